"""Answers to what is asked beside labels, collected batch by batch, whatever runs the network."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.corpus.sentence import Span
from bilstm_crf.prediction.entity_patterns import EntityPatterns
from bilstm_crf.prediction.flat_prediction import FlatPrediction
from bilstm_crf.prediction.label_runs import LabelRuns
from bilstm_crf.prediction.questions import Questions

IntArray = NDArray[np.int64]
RankedPaths = list[tuple[list[int], float]]
"""Label paths of a sentence and their probabilities, best first."""


class Chain(Protocol):
    """The distribution over the label paths of some sentences."""

    def marginals(self) -> NDArray[np.floating]:
        """Return (tokens, labels): how probable each label is, sentence by sentence."""

    def span_probability(
        self, sentences: IntArray, starts: IntArray, allowed: NDArray[np.bool_], /
    ) -> NDArray[np.floating]:
        """See :class:`bilstm_crf.prediction.entity_patterns.SpanProbability`."""


class AskedBatch(Protocol):
    """Some sentences with their scores."""

    @property
    def sentences(self) -> IntArray:
        """Their numbers."""

    @property
    def lengths(self) -> IntArray:
        """Tokens of each."""

    @property
    def tokens(self) -> IntArray:
        """Flat place of each token, sentence by sentence."""

    def label_ids(self) -> IntArray:
        """Return the label id to predict of each token, sentence by sentence."""

    def chain(self, rows: IntArray | None = None) -> Chain:
        """Return the distribution, of all sentences or of some of them."""

    def k_best(self, k: int) -> Sequence[RankedPaths]:
        """Return the k best label paths of each sentence."""


class Answers:
    """Collects what is asked about sentences. Batches may come from several threads.

    Args:
        starts: (sentences + 1,) where each sentence begins.
        questions: what to find out.
        runs: reads label ids.
        patterns: how entities are written in labels.
    """

    def __init__(
        self, starts: IntArray, questions: Questions, runs: LabelRuns, patterns: EntityPatterns
    ):
        self._starts, self._questions = starts, questions
        self._runs, self._patterns = runs, patterns
        num_tokens = int(starts[-1])
        self._labels = np.zeros(num_tokens, dtype=np.int64)
        rows = num_tokens if questions.needs_marginals else 0
        self._marginals = np.zeros((rows, len(runs.labels)), dtype=np.float32)
        # The one path of a sentence without tokens is certain.
        self._k_best: list[RankedPaths] = [[([], 1.0)]] * (len(starts) - 1)
        self._entities: list[Span] = []

    def add(self, batch: AskedBatch) -> None:
        """Label some of the sentences and ask what is to be asked about them."""
        found = batch.label_ids()
        self._labels[batch.tokens] = found
        spans = self._entities_of(found, batch.lengths)
        values: list[float] | None = None
        if self._questions.needs_marginals:
            chain = batch.chain()
            self._marginals[batch.tokens] = chain.marginals()
            values = self._patterns.probabilities(chain.span_probability, spans)
        elif self._questions.needs_entities and spans:
            # At the cost of the sentences that have any.
            rows, places = np.unique([row for row, _ in spans], return_inverse=True)
            moved = [(row, span) for row, (_, span) in zip(places.tolist(), spans, strict=True)]
            values = self._patterns.probabilities(batch.chain(rows).span_probability, moved)
        firsts = self._starts[batch.sentences].tolist()
        for number, (row, span) in enumerate(spans):
            value = None if values is None else values[number]
            self._add_entity(_moved(span, firsts[row], value))
        if self._questions.k_best:
            best = batch.k_best(self._questions.k_best)
            for sentence, ranked in zip(batch.sentences.tolist(), best, strict=True):
                self._k_best[sentence] = ranked

    def prediction(self) -> FlatPrediction:
        """Return all that was collected."""
        questions = self._questions
        probabilities: Any = None
        if questions.token_probabilities:
            probabilities = self._marginals[:, 0].copy()
            for span in self._entities:
                probabilities[span.start : span.end] = span.probability
        return FlatPrediction(
            label_ids=self._labels,
            starts=self._starts,
            entities=sorted(self._entities, key=_by_start),
            token_probabilities=probabilities,
            marginals=self._marginals if questions.marginals else None,
            k_best=self._k_best if questions.k_best else None,
        )

    def _entities_of(self, found: IntArray, lengths: IntArray) -> list[tuple[int, Span]]:
        """Return the row of the batch and the entity, counted in tokens of the row."""
        starts = np.concatenate([[0], np.cumsum(lengths)])
        spans = self._runs.entities(found, starts)
        rows = np.searchsorted(starts, [span.start for span in spans], side="right") - 1
        return [
            (row, _moved(span, -first, None))
            for row, first, span in zip(rows.tolist(), starts[rows].tolist(), spans, strict=True)
        ]

    def _add_entity(self, span: Span) -> None:
        """Add an entity, counted in tokens of the flat array, unless a threshold drops it."""
        known = span.probability
        if known is None or self._questions.thresholds.keeps(span.type, known):
            self._entities.append(span)
        else:
            self._labels[span.start : span.end] = 0


def _moved(span: Span, by: int, probability: float | None) -> Span:
    return Span(span.start + by, span.end + by, span.type, probability)


def _by_start(span: Span) -> int:
    return span.start
