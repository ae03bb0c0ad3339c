"""From the labels of the training files to the ids of the model's labels."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.corpus.encoding import EncodedCorpus
from bilstm_crf.corpus.labels import (
    LabelsSection,
    convert_labels,
    detect_scheme,
    invalid_positions,
    model_labels,
    split_label,
)
from bilstm_crf.errors import DataError

logger = logging.getLogger(__name__)

MOST_LABELS = 2000
"""Of a model: the CRF has a score for each pair of labels."""

_FAULTS_SHOWN = 3


@dataclass(frozen=True)
class LearnedLabels:
    """What the training labels taught.

    Attributes:
        corpus: the training corpus with ids of the model's labels.
        labels: the model's labels in the order of their ids, ``O`` first.
        scheme: scheme of the training files.
        types: entity types, sorted.
    """

    corpus: EncodedCorpus
    labels: tuple[str, ...]
    scheme: str
    types: tuple[str, ...]


def learn_labels(corpus: EncodedCorpus, section: LabelsSection) -> LearnedLabels:
    """Find the scheme and the entity types of a training corpus and turn its labels into ids.

    Malformed label sequences are repaired by the rule of :mod:`bilstm_crf.corpus.labels`,
    counted and logged with the first few places, or refused.

    Raises:
        DataError: the corpus has no labels, or a malformed sequence under
            ``labels.on_invalid: error``, or more labels than a model may have.
    """
    if corpus.label_ids is None:
        raise DataError("the training data has no labels; see data.label_column")
    sequences = _DistinctSequences(corpus)
    scheme = section.scheme
    if scheme == "auto":
        found = detect_scheme(sequences.counts())
        scheme = found.scheme
        logger.info("label scheme %s (%s)", scheme, found.evidence)
    types = sorted({split_label(label)[1] for label in corpus.labels} - {""})
    if not types:
        logger.warning("no entities in the training data; the model can only learn O")
    labels = tuple(model_labels(types, section.model_scheme))
    if len(labels) > MOST_LABELS:
        raise DataError(
            f"the training data has {len(types)} entity types ({', '.join(types[:3])}, ...), which "
            f"make {len(labels)} labels in {section.model_scheme}, more than {MOST_LABELS}; "
            "is data.label_column the column of the labels?"
        )
    ids = {label: number for number, label in enumerate(labels)}
    converted: list[NDArray[np.int32]] = []
    malformed: dict[int, tuple[int, str]] = {}
    for number, sequence in enumerate(sequences.distinct):
        faults = invalid_positions(sequence, scheme)
        if faults:
            malformed[number] = faults[0]
        model_sequence = convert_labels(sequence, scheme, section.model_scheme)
        converted.append(np.array([ids[label] for label in model_sequence], dtype=np.int32))
    _report(corpus, sequences, malformed, scheme, refuse=section.on_invalid == "error")
    label_ids = np.zeros(corpus.num_tokens, dtype=np.int32)
    for sentence, number in enumerate(sequences.of_sentence):
        start = corpus.starts[sentence]
        label_ids[start : start + len(converted[number])] = converted[number]
    return LearnedLabels(corpus.with_labels(labels, label_ids), labels, scheme, tuple(types))


class _DistinctSequences:
    """The distinct label sequences of a corpus: most sentences share theirs with others."""

    def __init__(self, corpus: EncodedCorpus):
        numbers: dict[bytes, int] = {}
        self.distinct: list[list[str]] = []
        self.of_sentence: list[int] = []
        ids, labels = corpus.label_ids, corpus.labels
        if ids is None:
            raise ValueError("this corpus has no labels")
        starts = corpus.starts.tolist()
        for start, end in pairwise(starts):
            key = ids[start:end].tobytes()
            number = numbers.setdefault(key, len(numbers))
            if number == len(self.distinct):
                self.distinct.append([labels[i] for i in ids[start:end].tolist()])
            self.of_sentence.append(number)

    def counts(self) -> dict[tuple[str, ...], int]:
        times = np.bincount(self.of_sentence, minlength=len(self.distinct)).tolist()
        return {tuple(labels): n for labels, n in zip(self.distinct, times, strict=True)}

    def sentences_with(self, numbers: dict[int, tuple[int, str]]) -> Iterator[tuple[int, int, str]]:
        """Yield (sentence, token, reason) for each sentence with one of these sequences."""
        for sentence, number in enumerate(self.of_sentence):
            if number in numbers:
                yield sentence, *numbers[number]


def _report(
    corpus: EncodedCorpus,
    sequences: _DistinctSequences,
    malformed: dict[int, tuple[int, str]],
    scheme: str,
    *,
    refuse: bool,
) -> None:
    if not malformed:
        return
    places = corpus.places
    found = [
        (places.where(sentence, token) if places else f"sentence {sentence + 1}", reason)
        for sentence, token, reason in sequences.sentences_with(malformed)
    ]
    if refuse:
        where, reason = found[0]
        raise DataError(
            f"{where}: {reason}; mend the file, or let the labels be repaired with "
            "labels.on_invalid: repair"
        )
    shown = "; ".join(f"{where}: {reason}" for where, reason in found[:_FAULTS_SHOWN])
    logger.warning(
        "%d of %d sentences have labels that are malformed in %s, repaired in memory (%s%s)",
        len(found), len(corpus), scheme, shown, "; ..." if len(found) > _FAULTS_SHOWN else "",
    )  # fmt: skip
