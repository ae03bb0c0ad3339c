"""The three splits of a corpus, read and numbered; dev and test chosen from, never learned from."""

import hashlib
import logging
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from bilstm_crf.corpus.context import context_limit
from bilstm_crf.corpus.data_section import DataSection
from bilstm_crf.corpus.encoding import EncodedCorpus, encode
from bilstm_crf.corpus.forms import FormTable
from bilstm_crf.corpus.label_ids import LearnedLabels, learn_labels
from bilstm_crf.corpus.labels import (
    SCHEMES,
    LabelsSection,
    convert_labels,
    detect_scheme,
    invalid_positions,
    labels_to_spans,
    split_label,
)
from bilstm_crf.corpus.readers import read_split
from bilstm_crf.corpus.vocabulary import Vocabularies
from bilstm_crf.errors import ConfigError, DataError
from bilstm_crf.evaluation.metrics import EntityScores, score
from bilstm_crf.model.decoding import decode_corpus
from bilstm_crf.model.tagger import TaggerNetwork

logger = logging.getLogger(__name__)

Split = Literal["train", "dev", "test"]


def read_corpus(data: DataSection, labels: LabelsSection, split: Split) -> EncodedCorpus | None:
    """Read one split; None where the configuration names no file for it."""
    files = data.files(split)
    if not files:
        return None
    settings = data.reader_settings(labels)
    corpus = encode(read_split(files, settings), tuple(data.features))
    if not len(corpus):
        raise DataError("no sentences in it", files[0])
    logger.info("%s: %d sentences, %d tokens from %s", split, len(corpus), corpus.num_tokens,
                ", ".join(str(file) for file in files))  # fmt: skip
    most_tokens = context_limit(data.model_dump())
    return corpus if most_tokens is None else _in_windows(corpus, split, len(files), most_tokens)


def _in_windows(
    corpus: EncodedCorpus, split: Split, num_files: int, most_tokens: int
) -> EncodedCorpus:
    read = corpus.in_windows(most_tokens)
    num_documents = 0 if corpus.documents is None else len(corpus.documents)
    num_windows = len(read.sequence_lengths)
    logger.info("%s: %d documents, read in %d windows of at most %d tokens", split, num_documents,
                num_windows, most_tokens)  # fmt: skip
    if num_documents <= num_files < num_windows:
        logger.warning(
            "%s: no marks of documents (-DOCSTART-, # newdoc); each file is read as one document",
            split,
        )
    return read


def read_training_corpus(data: DataSection, labels: LabelsSection) -> LearnedLabels:
    """Read the training split and learn its labels.

    Raises:
        ConfigError: ``data.train`` is missing.
        DataError: a file cannot be read or holds malformed lines.
    """
    corpus = read_corpus(data, labels, "train")
    if corpus is None:
        raise ConfigError("data.train: missing; name the file to train on")
    return learn_labels(corpus, labels)


@dataclass(frozen=True)
class HeldOut:
    """Dev or test: numbered for the network, gold labels as they stand in the file.

    Attributes:
        corpus: its form ids index ``forms``.
        forms: what its forms look like to the network.
        gold: labels of each sentence in ``scheme``.
        scheme: scheme of the file.
        model_labels: the network's labels.
        model_scheme: their scheme.
    """

    corpus: EncodedCorpus
    forms: FormTable
    gold: list[list[str]]
    scheme: str
    model_labels: tuple[str, ...]
    model_scheme: str

    def decode(self, network: TaggerNetwork) -> list[list[str]]:
        """Return the labels a network gives each sentence, in the scheme of the model."""
        names = self.model_labels
        paths = decode_corpus(network, self.corpus, self.forms)
        return [[names[i] for i in path.tolist()] for path in paths]

    def score(self, network: TaggerNetwork) -> EntityScores:
        """Return the entity scores of a network."""
        return self.score_labels(self.decode(network))

    def score_labels(self, predicted: list[list[str]]) -> EntityScores:
        """Return the entity scores of predictions in the scheme of the model."""
        in_file_scheme = [
            convert_labels(labels, self.model_scheme, self.scheme) for labels in predicted
        ]
        return score(self.gold, in_file_scheme, scheme=self.scheme)

    def count_malformed(self, predicted: list[list[str]]) -> int:
        """Return how many predictions of a model are no sequences of its scheme."""
        return sum(bool(invalid_positions(labels, self.model_scheme)) for labels in predicted)


def hold_out(
    corpus: EncodedCorpus,
    name: str,
    forms: FormTable,
    learned: LearnedLabels,
    model_scheme: str,
    columns: Vocabularies,
) -> HeldOut:
    """Number a dev or test corpus with what training learned.

    Raises:
        DataError: the corpus has no labels.
    """
    if corpus.label_ids is None:
        raise DataError(f"the {name} data has no labels; see data.label_column")
    gold = list(corpus.sentence_labels())
    forms.extend(corpus.forms)
    _warn_about_unknown_types(gold, name, learned.types)
    return HeldOut(
        corpus=with_known_columns(corpus, columns),
        forms=forms,
        gold=gold,
        scheme=_scheme_of(gold, corpus.labels, learned.scheme),
        model_labels=learned.labels,
        model_scheme=model_scheme,
    )


def with_known_columns(corpus: EncodedCorpus, vocabularies: Vocabularies) -> EncodedCorpus:
    """Return the corpus with its extra columns numbered by the vocabularies.

    Raises:
        DataError: a column that the model needs is missing.
    """
    features = {}
    for name, known in vocabularies.columns.items():
        if name not in corpus.features:
            raise DataError(f"the model needs the extra column {name!r}; see data.features")
        values, ids = corpus.features[name]
        translation = np.array([known.id(value) for value in values] or [0], dtype=np.int32)
        features[name] = (known.strings, translation[ids])
    return replace(corpus, features=features)


def _scheme_of(gold: list[list[str]], labels: tuple[str, ...], train_scheme: str) -> str:
    """Return the training scheme, unless the file has prefixes that it does not know."""
    prefixes = {split_label(label)[0] for label in labels} - {"O"}
    if prefixes <= set(SCHEMES[train_scheme].prefixes):
        return train_scheme
    return detect_scheme(gold).scheme


def _warn_about_unknown_types(gold: list[list[str]], name: str, known: tuple[str, ...]) -> None:
    found = Counter(span.type for labels in gold for span in labels_to_spans(labels))
    unknown = {kind: count for kind, count in found.items() if kind not in known}
    if unknown:
        listed = ", ".join(f"{kind} ({count})" for kind, count in sorted(unknown.items()))
        logger.warning(
            "entity types in %s that training never saw, scored as missed: %s", name, listed
        )
    if not found:
        logger.warning("no entities in the %s data; its F1 will be 0", name)


def fingerprint(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()
