"""From tokens in one flat list to label ids in one flat array, and what else is asked of them."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bilstm_crf.corpus.sentence import Span
from bilstm_crf.model.decoding import label_ids
from bilstm_crf.model.inference import EmissionBatch, FlatSentences, InferenceNetwork
from bilstm_crf.prediction.form_cache import FormCache
from bilstm_crf.prediction.label_runs import LabelRuns
from bilstm_crf.prediction.posterior import EntityPatterns, TemperedHead
from bilstm_crf.prediction.questions import Questions

logger = logging.getLogger(__name__)

IntArray = NDArray[np.int64]

LONGEST_SENTENCE = 20_000
"""Longer sentences are decoded in pieces of this many tokens, so that memory stays bounded."""


@dataclass(frozen=True)
class FlatPrediction:
    """What a model says of sentences that stand one after the other.

    Attributes:
        label_ids: (tokens,) ids of the model's labels.
        starts: (pieces + 1,) where each decoded piece begins; a piece is a sentence, but for
            those longer than ``LONGEST_SENTENCE``.
        entities: in order, counted in tokens of the flat array, with probabilities if those
            were asked for; None where nothing was asked.
        token_probabilities: (tokens,) probability of the token's entity, or of ``O``.
        marginals: (tokens, labels) probability of each label of the model.
        k_best: for each piece its best label paths and their probabilities, best first.
    """

    label_ids: IntArray
    starts: IntArray
    entities: list[Span] | None = None
    token_probabilities: NDArray[np.float32] | None = None
    marginals: NDArray[np.float32] | None = None
    k_best: list[list[tuple[list[int], float]]] | None = None


class FlatPredictor:
    """Predicts flat lists of tokens. Any number of threads may use it at once.

    Args:
        inference: the network.
        cache: encoded forms.
        runs: reads label ids.
        patterns: how entities are written in labels.
        tempered: the head, for probabilities.
    """

    def __init__(
        self,
        inference: InferenceNetwork,
        cache: FormCache,
        runs: LabelRuns,
        patterns: EntityPatterns,
        tempered: TemperedHead,
    ):
        self._inference, self._cache, self._runs = inference, cache, runs
        self._patterns, self._tempered = patterns, tempered

    def predict(
        self,
        tokens: Sequence[str] | Sequence[bytes],
        starts: IntArray,
        columns: Mapping[str, NDArray[np.integer]],
        questions: Questions,
    ) -> FlatPrediction:
        """Predict sentences.

        Args:
            tokens: of all sentences, one after the other.
            starts: (sentences + 1,) where each sentence begins.
            columns: value ids of extra columns by name, each (tokens,).
            questions: what to find out beside the labels.

        Raises:
            UnicodeDecodeError: a token given as bytes is not UTF-8.
        """
        inputs, rows = self._cache.look_up(tokens)
        starts = _cut_long(starts)
        sentences = FlatSentences(rows, starts, columns)
        if not questions:
            return FlatPrediction(label_ids(self._inference, inputs, sentences), starts)
        return self._answer(inputs, sentences, questions)

    def emissions(
        self,
        tokens: Sequence[str],
        starts: IntArray,
        columns: Mapping[str, NDArray[np.integer]],
    ) -> Iterator[EmissionBatch]:
        """Yield the label scores of sentences, whole ones however long, in batches."""
        inputs, rows = self._cache.look_up(tokens)
        return self._inference.emissions(inputs, FlatSentences(rows, starts, columns))

    @torch.inference_mode()
    def _answer(
        self, inputs: Tensor, sentences: FlatSentences, questions: Questions
    ) -> FlatPrediction:
        starts = sentences.starts
        answers = _Answers(starts, len(self._runs.labels), questions)
        for batch in self._inference.emissions(inputs, sentences):
            paths, _ = self._inference.head.viterbi_paths(batch.emissions, batch.mask)
            found = paths[batch.mask].cpu().numpy()
            answers.labels[batch.tokens] = found
            spans = self._entities(batch, found)
            values: list[float] | None = None
            if questions.needs_marginals:
                distribution = self._tempered.distribution(batch.emissions, batch.mask)
                answers.marginals[batch.tokens] = (
                    distribution.marginals()[batch.mask].float().cpu().numpy()
                )
                values = self._patterns.probabilities(distribution, spans, self._inference.device)
            elif questions.needs_entities and spans:
                values = self._probabilities_of_some(batch, spans)
            for number, (row, span) in enumerate(spans):
                value = None if values is None else values[number]
                answers.add_entity(_moved(span, int(starts[batch.sentences[row]]), value))
            if questions.k_best:
                best = self._tempered.k_best(batch.emissions, batch.mask, questions.k_best)
                for sentence, ranked in zip(batch.sentences.tolist(), best, strict=True):
                    answers.k_best[sentence] = ranked
        return answers.prediction()

    def _probabilities_of_some(
        self, batch: EmissionBatch, spans: list[tuple[int, Span]]
    ) -> list[float]:
        """Return the probabilities of entities, at the cost of the sentences that have any."""
        rows, places = np.unique([row for row, _ in spans], return_inverse=True)
        some = torch.from_numpy(rows).to(batch.mask.device)
        distribution = self._tempered.distribution(batch.emissions[some], batch.mask[some])
        moved = [(row, span) for row, (_, span) in zip(places.tolist(), spans, strict=True)]
        return self._patterns.probabilities(distribution, moved, self._inference.device)

    def _entities(self, batch: EmissionBatch, found: IntArray) -> list[tuple[int, Span]]:
        """Return the row of the batch and the entity, counted in tokens of the row."""
        lengths = batch.mask.sum(1).cpu().numpy()
        starts = np.concatenate([[0], np.cumsum(lengths)])
        spans = self._runs.entities(found, starts)
        rows = np.searchsorted(starts, [span.start for span in spans], side="right") - 1
        return [
            (row, _moved(span, -first, None))
            for row, first, span in zip(rows.tolist(), starts[rows].tolist(), spans, strict=True)
        ]


class _Answers:
    """Collects what was asked, batch by batch.

    Attributes:
        labels: (tokens,) label ids.
        marginals: (tokens, labels), or (0, labels) where they are not needed.
        k_best: ranked paths of each piece.
    """

    def __init__(self, starts: IntArray, num_labels: int, questions: Questions):
        num_tokens = int(starts[-1])
        self._starts, self._questions = starts, questions
        self.labels = np.zeros(num_tokens, dtype=np.int64)
        rows = num_tokens if questions.needs_marginals else 0
        self.marginals = np.zeros((rows, num_labels), dtype=np.float32)
        # The one path of a sentence without tokens is certain.
        self.k_best: list[list[tuple[list[int], float]]] = [[([], 1.0)]] * (len(starts) - 1)
        self._entities: list[Span] = []

    def add_entity(self, span: Span) -> None:
        """Add an entity, counted in tokens of the flat array, unless a threshold drops it."""
        known = span.probability
        if known is None or self._questions.thresholds.keeps(span.type, known):
            self._entities.append(span)
        else:
            self.labels[span.start : span.end] = 0

    def prediction(self) -> FlatPrediction:
        """Return all that was collected."""
        questions = self._questions
        probabilities = None
        if questions.token_probabilities:
            probabilities = self.marginals[:, 0].copy()
            for span in self._entities:
                probabilities[span.start : span.end] = span.probability
        return FlatPrediction(
            label_ids=self.labels,
            starts=self._starts,
            entities=sorted(self._entities, key=_by_start),
            token_probabilities=probabilities,
            marginals=self.marginals if questions.marginals else None,
            k_best=self.k_best if questions.k_best else None,
        )


def _moved(span: Span, by: int, probability: float | None) -> Span:
    return Span(span.start + by, span.end + by, span.type, probability)


def _by_start(span: Span) -> int:
    return span.start


def _cut_long(starts: IntArray) -> IntArray:
    """Return the starts with some added inside of sentences that are too long."""
    if not len(starts) or np.diff(starts).max(initial=0) <= LONGEST_SENTENCE:
        return starts
    logger.warning(
        "a sentence of %d tokens is decoded in pieces of %d; are blank lines missing?",
        np.diff(starts).max(), LONGEST_SENTENCE,
    )  # fmt: skip
    cut: list[int] = []
    for start, end in pairwise(starts.tolist()):
        cut.extend(range(start, max(end, start + 1), LONGEST_SENTENCE))
    return np.array([*cut, starts[-1]], dtype=np.int64)
