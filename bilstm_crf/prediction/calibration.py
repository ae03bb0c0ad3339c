"""Fits the temperature that makes the probabilities of entities mean what they say."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor

from bilstm_crf.corpus.labels import labels_to_spans
from bilstm_crf.corpus.sentence import Sentence, Span
from bilstm_crf.errors import DataError
from bilstm_crf.evaluation.confidence import Calibration, calibrate
from bilstm_crf.prediction.entity_patterns import EntityPatterns
from bilstm_crf.prediction.posterior import TemperedHead, asked
from bilstm_crf.prediction.predictor import Tagger

LOWEST, HIGHEST = 0.05, 20.0
"""Temperatures that are tried."""

_GOLDEN = (math.sqrt(5) - 1) / 2
_STEPS = 18  # of a search that narrows by a factor of 0.62 each: the last digits do not matter
_SMALLEST = 1e-6


@dataclass(frozen=True)
class FittedTemperature:
    """What calibration found.

    Attributes:
        temperature: the best divisor of all scores.
        before: how probabilities compare with precision at the model's former temperature.
        after: the same at the best one, on the same sentences.
    """

    temperature: float
    before: Calibration
    after: Calibration


def fit_temperature(tagger: Tagger, sentences: Sequence[Sentence]) -> FittedTemperature:
    """Find the temperature at which predicted entities are right as often as they are probable.

    It minimises the cross-entropy between the exact probability of each predicted entity and
    whether it is in gold. What is predicted does not depend on it.

    Args:
        tagger: the model.
        sentences: labelled; not those it was trained on.

    Raises:
        DataError: a sentence has no labels, or no entity is predicted.
    """
    questions = list(_predicted(tagger, sentences))
    correct = [right for one in questions for right in one.correct]
    if not correct:
        raise DataError("no entity is predicted in this data, so there is nothing to calibrate on")
    patterns = EntityPatterns(tagger.labels, tagger.model.scheme)

    def probabilities(temperature: float) -> list[float]:
        head = TemperedHead(tagger.network.head, temperature)
        return [
            value
            for one in questions
            for value in patterns.probabilities(
                asked(head.distribution(one.emissions, one.mask), one.emissions.device), one.spans
            )
        ]

    def loss(log_temperature: float) -> float:
        values = probabilities(math.exp(log_temperature))
        return -sum(
            math.log(max(_SMALLEST, value if right else 1 - value))
            for value, right in zip(values, correct, strict=True)
        )

    best = math.exp(_minimum(loss, math.log(LOWEST), math.log(HIGHEST)))
    return FittedTemperature(
        temperature=best,
        before=calibrate(probabilities(tagger.model.temperature), correct),
        after=calibrate(probabilities(best), correct),
    )


@dataclass(frozen=True)
class _PredictedBatch:
    """Sentences with predicted entities, and whether each entity is right."""

    emissions: Float[Tensor, "batch time labels"]
    mask: Bool[Tensor, "batch time"]
    spans: list[tuple[int, Span]]
    correct: list[bool]


def _predicted(tagger: Tagger, sentences: Sequence[Sentence]) -> Iterator[_PredictedBatch]:
    for batch in tagger.emissions(sentences):
        paths = tagger.network.head.decode(batch.emissions, batch.mask)
        rows: list[int] = []
        spans: list[tuple[int, Span]] = []
        correct: list[bool] = []
        lengths = batch.mask.sum(1).tolist()
        found = zip(batch.sentences.tolist(), paths.tolist(), lengths, strict=True)
        for row, (number, path, length) in enumerate(found):
            sentence = sentences[number]
            if sentence.labels is None:
                raise DataError("a sentence without labels", sentence.where() or None)
            labels = [tagger.labels[i] for i in path[:length]]
            predicted = labels_to_spans(labels, tagger.model.scheme)
            gold = set(labels_to_spans(sentence.labels))
            spans += [(len(rows), span) for span in predicted]
            correct += [span in gold for span in predicted]
            rows += [row] if predicted else []
        if rows:
            yield _PredictedBatch(batch.emissions[rows], batch.mask[rows], spans, correct)


def _minimum(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function with one valley is least (golden-section search, Kiefer 1953)."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(_STEPS):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
    return (low + high) / 2
