"""From tokens in one flat list to label ids in one flat array, and what else is asked of them."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
        entities: in order, counted in tokens of the flat array, with probabilities; None
            where nothing was asked.
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

    @torch.inference_mode()
    def _answer(
        self, inputs: Tensor, sentences: FlatSentences, questions: Questions
    ) -> FlatPrediction:
        starts = sentences.starts
        num_tokens, num_labels = int(starts[-1]), len(self._runs.labels)
        labels = np.zeros(num_tokens, dtype=np.int64)
        outside = np.zeros(num_tokens, dtype=np.float32)
        marginals = np.zeros((num_tokens if questions.marginals else 0, num_labels), np.float32)
        ranked: list[list[tuple[list[int], float]]] = [[([], 1.0)]] * (len(starts) - 1)
        entities: list[Span] = []
        for batch in self._inference.emissions(inputs, sentences):
            paths, _ = self._inference.head.viterbi_paths(batch.emissions, batch.mask)
            found = paths[batch.mask].cpu().numpy()
            distribution = self._tempered.distribution(batch.emissions, batch.mask)
            spans = self._entities(batch, found)
            values = self._patterns.probabilities(distribution, spans, batch.emissions.device)
            for (row, span), value in zip(spans, values, strict=True):
                first = int(starts[batch.sentences[row]])
                here = Span(first + span.start, first + span.end, span.type, value)
                if questions.thresholds.keeps(span.type, value):
                    entities.append(here)
            labels[batch.tokens] = found
            if questions.needs_marginals:
                table = distribution.marginals()[batch.mask].float().cpu().numpy()
                outside[batch.tokens] = table[:, 0]
                if questions.marginals:
                    marginals[batch.tokens] = table
            if questions.k_best:
                best = self._tempered.k_best(batch.emissions, batch.mask, questions.k_best)
                for sentence, paths_of_one in zip(batch.sentences.tolist(), best, strict=True):
                    ranked[sentence] = paths_of_one
        entities.sort(key=_by_start)
        kept = np.zeros(num_tokens, dtype=bool)
        for entity in entities:
            kept[entity.start : entity.end] = True
            outside[entity.start : entity.end] = entity.probability
        return FlatPrediction(
            label_ids=np.where(kept, labels, 0),
            starts=starts,
            entities=entities,
            token_probabilities=outside if questions.probabilities else None,
            marginals=marginals if questions.marginals else None,
            k_best=ranked if questions.k_best else None,
        )

    def _entities(self, batch: EmissionBatch, found: IntArray) -> list[tuple[int, Span]]:
        """Return the row of the batch and the entity, counted in tokens of the row."""
        lengths = batch.mask.sum(1).cpu().numpy()
        starts = np.concatenate([[0], np.cumsum(lengths)])
        spans = self._runs.entities(found, starts)
        rows = np.searchsorted(starts, [span.start for span in spans], side="right") - 1
        return [
            (row, replace(span, start=span.start - first, end=span.end - first))
            for row, first, span in zip(rows.tolist(), starts[rows].tolist(), spans, strict=True)
        ]


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
