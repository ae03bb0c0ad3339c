"""Label ids of many sentences in one array: their entities, and their labels in the files' scheme.

Labels that are not ``O`` stand in short runs. What a run means depends on nothing outside it, and
few runs differ, so each distinct one is worked out once.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.corpus.labels import (
    OUTSIDE,
    labels_to_spans,
    model_labels,
    spans_to_labels,
    split_label,
)
from bilstm_crf.corpus.sentence import Span

IntArray = NDArray[np.int64]

_MOST_RUNS = 100_000
"""Distinct runs that are remembered."""


class LabelRuns:
    """Reads label ids of the model, run by run. Safe to share between threads.

    Args:
        labels: the model's labels, ``O`` first.
        scheme: their scheme.
        file_scheme: the scheme in which labels are given to the user.

    Attributes:
        labels: the model's labels, by id.
        file_labels: labels in the files' scheme, ``O`` first.
    """

    def __init__(self, labels: Sequence[str], scheme: str, file_scheme: str):
        if labels[0] != OUTSIDE:
            raise ValueError(f"the first label must be {OUTSIDE}, found {labels[0]!r}")
        self.labels, self._scheme, self._file_scheme = tuple(labels), scheme, file_scheme
        types = {split_label(label)[1] for label in labels} - {""}
        self.file_labels = model_labels(sorted(types), file_scheme)
        self._file_ids = {label: number for number, label in enumerate(self.file_labels)}
        self._known: dict[bytes, tuple[list[Span], IntArray]] = {}

    def entities(self, label_ids: IntArray, starts: IntArray) -> list[Span]:
        """Return the entities of all sentences in order, counted in tokens of the flat array."""
        return [
            Span(first + span.start, first + span.end, span.type)
            for first, last in _runs(label_ids, starts)
            for span in self._meaning(label_ids[first:last])[0]
        ]

    def in_file_scheme(self, label_ids: IntArray, starts: IntArray) -> IntArray:
        """Return the same entities as indices into ``file_labels``."""
        result = np.zeros_like(label_ids)
        for first, last in _runs(label_ids, starts):
            result[first:last] = self._meaning(label_ids[first:last])[1]
        return result

    def _meaning(self, run: IntArray) -> tuple[list[Span], IntArray]:
        key = run.tobytes()
        found = self._known.get(key)
        if found is None:
            spans = labels_to_spans([self.labels[i] for i in run], self._scheme)
            labels = spans_to_labels(spans, len(run), self._file_scheme)
            found = spans, np.array([self._file_ids[label] for label in labels], dtype=np.int64)
            if len(self._known) < _MOST_RUNS:
                self._known[key] = found
        return found


def _runs(label_ids: IntArray, starts: IntArray) -> Iterator[tuple[int, int]]:
    """Yield first and past-last token of each stretch of labels other than ``O``."""
    inside = np.flatnonzero(label_ids)
    if not len(inside):
        return
    begins_sentence = np.zeros(len(label_ids) + 1, dtype=bool)
    begins_sentence[starts] = True
    breaks = np.flatnonzero((np.diff(inside) > 1) | begins_sentence[inside[1:]])
    firsts = inside[np.concatenate([[0], breaks + 1])]
    lasts = inside[np.concatenate([breaks, [len(inside) - 1]])] + 1
    yield from zip(firsts.tolist(), lasts.tolist(), strict=True)
