"""Answers to what is asked beside labels: probabilities of entities, of labels and of paths."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bilstm_crf.corpus.sentence import Span
from bilstm_crf.model.flat_sentences import FlatSentences
from bilstm_crf.model.inference import EmissionBatch, InferenceNetwork
from bilstm_crf.prediction.flat_prediction import FlatPrediction
from bilstm_crf.prediction.label_runs import LabelRuns
from bilstm_crf.prediction.posterior import EntityPatterns, TemperedHead
from bilstm_crf.prediction.questions import Questions

IntArray = NDArray[np.int64]


class Answerer:
    """Labels sentences and answers questions about them.

    Args:
        inference: the network.
        runs: reads label ids.
        patterns: how entities are written in labels.
        tempered: the head, for probabilities.
    """

    def __init__(
        self,
        inference: InferenceNetwork,
        runs: LabelRuns,
        patterns: EntityPatterns,
        tempered: TemperedHead,
    ):
        self._inference, self._runs = inference, runs
        self._patterns, self._tempered = patterns, tempered

    @torch.inference_mode()
    def answer(
        self, inputs: Tensor, sentences: FlatSentences, questions: Questions
    ) -> FlatPrediction:
        """Return the labels of sentences and what is asked of them."""
        starts = sentences.starts
        answers = _Answers(starts, len(self._runs.labels), questions)
        for batch in self._inference.emissions(inputs, sentences):
            paths = self._inference.head.decode(batch.emissions, batch.mask)
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
