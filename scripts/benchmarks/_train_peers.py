"""Other taggers, trained epoch by epoch; started by the benchmark with the peers' Python.

Usage: python _train_peers.py NAME TRAIN_FILE HIDDEN_SIZE BATCH_SIZE. Words have vectors of 100
numbers, the BiLSTM HIDDEN_SIZE units per direction and one layer; all else is the tool's default.
"""

import json
import logging
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from _train_protocol import read_sentences, serve

WORD_SIZE = 100


class BiLstmCrf:
    """bi-lstm-crf from its package: no characters, sentences packed, Adam."""

    def __init__(self, path: str, hidden: int, batch: int):
        import torch
        from bi_lstm_crf.app.preprocessing import Preprocessor
        from bi_lstm_crf.app.utils import build_model
        from torch.utils.data import DataLoader, TensorDataset

        sentences = list(read_sentences(path))
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            words = sorted({token for tokens, _ in sentences for token in tokens})
            tags = sorted({label for _, labels in sentences for label in labels})
            place.joinpath("vocab.json").write_text(json.dumps(words))
            place.joinpath("tags.json").write_text(json.dumps(tags))
            lines = [f"{json.dumps(t)}\t{json.dumps(n)}\n" for t, n in sentences]
            place.joinpath("dataset.txt").write_text("".join(lines))
            preprocessor = Preprocessor(config_dir=folder, verbose=False)
            (inputs, labels), _, _ = preprocessor.load_dataset(
                folder, 1 / len(sentences), 0.0, max_seq_len=max(len(t) for t, _ in sentences)
            )
            options = Namespace(
                model_dir=folder, embedding_dim=WORD_SIZE, hidden_dim=2 * hidden, num_rnn_layers=1
            )
            self.model = build_model(options, preprocessor, load=False)
        self.batches = DataLoader(TensorDataset(inputs, labels), batch, shuffle=True)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)

    def epoch(self) -> float:
        self.model.train()
        losses = []
        for inputs, labels in self.batches:
            self.model.zero_grad()
            loss = self.model.loss(inputs, labels)
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)


def entities(labels: list[str]) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and type of each entity of well-formed BIO labels."""
    start = 0
    for i, label in enumerate([*labels, "O"]):
        if i and not label.startswith("I-") and labels[i - 1] != "O":
            yield start, i, labels[i - 1][2:]
        if label.startswith("B-"):
            start = i


class Flair:
    """flair's SequenceTagger: trained word vectors, character BiLSTM of 25 units, CRF, SGD."""

    def __init__(self, path: str, hidden: int, batch: int):
        import flair
        import torch
        from flair.data import Dictionary, Sentence
        from flair.datasets import DataLoader, FlairDatapointDataset
        from flair.embeddings import CharacterEmbeddings, OneHotEmbeddings, StackedEmbeddings
        from flair.models import SequenceTagger

        flair.device = torch.device("cpu")
        logging.getLogger("flair").setLevel(logging.WARNING)
        words, chars, types = Dictionary(), Dictionary(), Dictionary(add_unk=False)
        types.span_labels = True
        sentences = []
        for tokens, labels in read_sentences(path):
            sentence = Sentence(tokens)
            for start, end, kind in entities(labels):
                sentence[start:end].add_label("ner", kind)
                types.add_item(kind)
            for token in tokens:
                words.add_item(token)
                for char in token:
                    chars.add_item(char)
            sentences.append(sentence)
        embeddings = StackedEmbeddings(
            [OneHotEmbeddings(words, embedding_length=WORD_SIZE), CharacterEmbeddings(chars)]
        )
        self.model = SequenceTagger(embeddings, types, "ner", hidden_size=hidden)
        self.batches = DataLoader(FlairDatapointDataset(sentences), batch_size=batch, shuffle=True)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def epoch(self) -> float:
        import torch

        self.model.train()
        total, count = 0.0, 0
        for batch in self.batches:
            self.optimizer.zero_grad()
            loss, size = self.model.forward_loss(batch)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
            self.optimizer.step()
            total, count = total + loss.item(), count + size
            for sentence in batch:
                sentence.clear_embeddings()
        return total / count


class Stanza:
    """Stanza's NER trainer: trained word vectors, character BiLSTM of 100 units, CRF, SGD."""

    def __init__(self, path: str, hidden: int, batch: int):
        from stanza.models.common.doc import Document
        from stanza.models.ner.data import DataLoader
        from stanza.models.ner.trainer import Trainer
        from stanza.models.ner_tagger import parse_args

        logging.getLogger("stanza").setLevel(logging.WARNING)
        arguments = ["--shorthand", "en_bench", "--batch_size", str(batch), "--no_pretrain"]
        arguments += ["--hidden_dim", str(hidden), "--word_emb_dim", str(WORD_SIZE), "--cpu"]
        options = parse_args(arguments)
        document = Document(
            [
                [
                    {"id": i, "text": t, "ner": n}
                    for i, (t, n) in enumerate(zip(*pair, strict=True), 1)
                ]
                for pair in read_sentences(path)
            ]
        )
        self.batches = DataLoader(document, batch, options, None)
        self.trainer = Trainer(options, self.batches.vocab, None, device="cpu")

    def epoch(self) -> float:
        losses = [self.trainer.update(batch, eval=False) for batch in self.batches]
        self.batches.reshuffle()
        return sum(losses) / len(losses)


def ncrf_like(path: str, hidden: int, batch: int) -> Any:
    from _ncrf_like import NcrfLike

    return NcrfLike(list(read_sentences(path)), WORD_SIZE, hidden, batch)


PEERS = {"bi-lstm-crf": BiLstmCrf, "NCRF++-like": ncrf_like, "Stanza": Stanza, "flair": Flair}


def main() -> None:
    name, path, hidden, batch = sys.argv[1:]
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(1)
    serve(PEERS[name](path, int(hidden), int(batch)).epoch)


if __name__ == "__main__":
    main()
