"""Other taggers, trained and run on token lines; started by the benchmark with the peers' Python.

Usage: python _predict_peers.py NAME train CORPUS MODEL | NAME predict MODEL INPUT OUTPUT
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path


def read_sentences(path: str) -> Iterator[list[list[str]]]:
    """Yield the rows of each sentence of a file with tab-separated columns."""
    rows: list[list[str]] = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            line = line.rstrip("\n")
            if line.strip():
                rows.append(line.split("\t"))
            elif rows:
                yield rows
                rows = []
    if rows:
        yield rows


def write_sentence(file, tokens: list[str], labels: list[str]) -> None:
    """Write token lines with labels."""
    file.write("".join([f"{t}\t{label}\n" for t, label in zip(tokens, labels, strict=True)]) + "\n")


class CrfSuite:
    """python-crfsuite with the usual features: a word's own and its neighbours', token by token."""

    def features(self, tokens: list[str]) -> list[list[str]]:
        """Return the features of each token of a sentence."""
        rows = []
        for i, word in enumerate(tokens):
            row = [
                "bias",
                f"word.lower={word.lower()}",
                f"word[-3:]={word[-3:]}",
                f"word[-2:]={word[-2:]}",
                f"word.isupper={word.isupper()}",
                f"word.istitle={word.istitle()}",
                f"word.isdigit={word.isdigit()}",
            ]
            for step, edge in ((-1, "BOS"), (1, "EOS")):
                if not 0 <= i + step < len(tokens):
                    row.append(edge)
                    continue
                near = tokens[i + step]
                row += [
                    f"{step}:word.lower={near.lower()}",
                    f"{step}:word.istitle={near.istitle()}",
                    f"{step}:word.isupper={near.isupper()}",
                ]
            rows.append(row)
        return rows

    def train(self, corpus: str, model: str) -> None:
        import pycrfsuite

        trainer = pycrfsuite.Trainer(verbose=False)
        for rows in read_sentences(f"{corpus}/train.conll"):
            trainer.append(self.features([row[0] for row in rows]), [row[1] for row in rows])
        trainer.set_params({"c1": 0.1, "c2": 0.01, "max_iterations": 60})
        trainer.train(model)

    def predict(self, model: str, source: str, target: str) -> None:
        import pycrfsuite

        tagger = pycrfsuite.Tagger()
        tagger.open(model)
        with open(target, "w", encoding="utf-8") as out:
            for rows in read_sentences(source):
                tokens = [row[0] for row in rows]
                write_sentence(out, tokens, tagger.tag(self.features(tokens)))


class CachedCrfSuite(CrfSuite):
    """The same, but what depends on a word alone is worked out once per distinct word."""

    @staticmethod
    @lru_cache(maxsize=200_000)
    def of_word(word: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
        """Return a word's features for itself, for the word before it and for the one after."""
        lower, title, upper = word.lower(), word.istitle(), word.isupper()
        own = (
            "bias", f"word.lower={lower}", f"word[-3:]={word[-3:]}", f"word[-2:]={word[-2:]}",
            f"word.isupper={upper}", f"word.istitle={title}", f"word.isdigit={word.isdigit()}",
        )  # fmt: skip
        near = (f"word.lower={lower}", f"word.istitle={title}", f"word.isupper={upper}")
        return own, tuple("1:" + one for one in near), tuple("-1:" + one for one in near)

    def features(self, tokens: list[str]) -> list[list[str]]:
        """Return the features of each token of a sentence."""
        words = [self.of_word(token) for token in tokens]
        before = [("BOS",), *(word[2] for word in words[:-1])]
        after = [*(word[1] for word in words[1:]), ("EOS",)]
        return [
            [*own, *left, *right]
            for (own, _, _), left, right in zip(words, before, after, strict=True)
        ]


class BiLstmCrf:
    """The package bi-lstm-crf as its command uses it: sentence by sentence.

    Words only, vectors of 100 numbers, 64 LSTM units per direction.
    """

    batch = 1

    def train(self, corpus: str, model: str) -> None:
        folder = Path(model)
        folder.mkdir()
        sentences = [*read_sentences(f"{corpus}/train.conll")]
        words = sorted({row[0] for rows in sentences for row in rows})
        labels = sorted({row[1] for rows in sentences for row in rows})
        data = folder / "corpus"
        data.mkdir()
        (data / "vocab.json").write_text(json.dumps(words), encoding="utf-8")
        (data / "tags.json").write_text(json.dumps(labels), encoding="utf-8")
        with (data / "dataset.txt").open("w", encoding="utf-8") as file:
            for rows in sentences:
                columns = [json.dumps([row[i] for row in rows]) for i in (0, 1)]
                file.write("\t".join(columns) + "\n")
        command = [sys.executable, "-m", "bi_lstm_crf", str(data), "--model_dir", str(folder)]
        subprocess.run([*command, "--num_epoch", "1"], check=True, capture_output=True)

    def predict(self, model: str, source: str, target: str) -> None:
        import torch
        from bi_lstm_crf.app import WordsTagger

        torch.set_num_threads(1)
        tagger = WordsTagger(model_dir=model)
        sentences = [[row[0] for row in rows] for rows in read_sentences(source)]
        # It takes sentences of one length at a time, so those go together.
        order = sorted(range(len(sentences)), key=lambda i: len(sentences[i]))
        found: list[list[str]] = [[]] * len(sentences)
        batch: list[int] = []
        for i in [*order, -1]:
            full = len(batch) == self.batch or (
                batch and (i < 0 or len(sentences[i]) != len(sentences[batch[0]]))
            )
            if full:
                labels, _ = tagger([sentences[j] for j in batch])
                for j, row in zip(batch, labels, strict=True):
                    found[j] = row
                batch = []
            batch.append(i)
        with open(target, "w", encoding="utf-8") as out:
            for tokens, labels in zip(sentences, found, strict=True):
                write_sentence(out, tokens, labels)


class BatchedBiLstmCrf(BiLstmCrf):
    """The same, with up to 64 sentences of one length put together by us."""

    batch = 64


PEERS = {
    "crfsuite": CrfSuite,
    "crfsuite-cached": CachedCrfSuite,
    "bi-lstm-crf": BiLstmCrf,
    "bi-lstm-crf-batched": BatchedBiLstmCrf,
}

if __name__ == "__main__":
    name, task, *paths = sys.argv[1:]
    getattr(PEERS[name](), task)(*paths)
