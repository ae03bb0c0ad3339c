"""The ways in which the labels of a scheme write an entity, and how probable it is with them."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.corpus.labels import SCHEMES, split_label
from bilstm_crf.corpus.sentence import Span


class SpanProbability(Protocol):
    """Asks a distribution over the label paths of a batch for the probabilities of spans."""

    def __call__(
        self,
        sentences: NDArray[np.int64],
        starts: NDArray[np.int64],
        allowed: NDArray[np.bool_],
        /,
    ) -> NDArray[np.floating]:
        """Return (spans,): how probable it is that every label of a span is an allowed one.

        Args:
            sentences: (spans,) each span's sentence in the batch.
            starts: (spans,) its first token.
            allowed: (spans, positions, labels) its labels from there on; all True behind it.
        """


class EntityPatterns:
    """The label sequences that make up an entity, as the distribution wants them.

    An entity is taken as its scheme writes it; the probability of a malformed way to write it is
    not counted. In IOB1 and IO, whether an entity begins depends on the label before, which is
    then part of the pattern.

    Args:
        labels: the model's labels.
        scheme: their scheme.
    """

    def __init__(self, labels: Sequence[str], scheme: str):
        self._row = SCHEMES[scheme]
        self._parts = [split_label(label) for label in labels]

    def _labels(self, prefixes: frozenset[str] | set[str], entity_type: str) -> list[bool]:
        return [prefix in prefixes and kind == entity_type for prefix, kind in self._parts]

    def patterns(self, span: Span) -> list[tuple[int, list[list[bool]]]]:
        """Return the first position and the allowed labels from there on, for each way to write it.

        The ways exclude each other, so their probabilities add up. Position -1 is not in the
        sentence; a way that begins there is left out.
        """
        row, kind, length = self._row, span.type, span.end - span.start
        inner = [self._labels({row.inside}, kind)] * (length - 2)
        last = [self._labels({row.last}, kind)] if length > 1 else []
        goes_on = self._labels(row.continuing, kind)
        behind = [not one for one in goes_on]
        first = self._labels({row.single if length == 1 else row.first}, kind)
        if row.starting.isdisjoint(row.continuing):
            return [(span.start, [first, *inner, *last, behind])]
        of_type = [other == kind for _, other in self._parts]
        ways = [(span.start - 1, [[not one for one in of_type], first, *inner, *last, behind])]
        if row.adjacent:
            marked = self._labels({row.adjacent}, kind)
            ways.append((span.start - 1, [of_type, marked, *inner, *last, behind]))
        if span.start == 0:
            ways = [(0, [first, *inner, *last, behind])]
        return ways

    def probabilities(
        self, span_probability: SpanProbability, spans: Sequence[tuple[int, Span]]
    ) -> list[float]:
        """Return the exact probability of entities.

        Args:
            span_probability: asks the distribution of a batch.
            spans: row of the batch and entity, counted in tokens of its sentence.
        """
        ways = [
            (number, row, start, allowed)
            for number, (row, span) in enumerate(spans)
            for start, allowed in self.patterns(span)
        ]
        totals = [0.0] * len(spans)
        # Spans of similar length together, so that one long entity does not pad the others.
        ways.sort(key=lambda way: len(way[3]))
        for first in range(0, len(ways), 256):
            some = ways[first : first + 256]
            longest = len(some[-1][3])
            free = [True] * len(self._parts)
            values = span_probability(
                np.array([row for _, row, _, _ in some]),
                np.array([start for _, _, start, _ in some]),
                np.array([way + [free] * (longest - len(way)) for *_, way in some]),
            )
            for (number, *_), value in zip(some, values.tolist(), strict=True):
                totals[number] += value
        return [min(1.0, max(0.0, total)) for total in totals]
