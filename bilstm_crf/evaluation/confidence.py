"""Whether the probabilities of predicted entities can be trusted, and what a threshold costs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bilstm_crf.evaluation.metrics import precision_recall_f1


@dataclass(frozen=True)
class CalibrationBin:
    """Predicted entities whose probability lies in one interval.

    Attributes:
        low: lower end of the interval.
        high: upper end; it belongs to the interval only where it is 1.
        count: entities in it.
        probability: their mean probability.
        precision: the share of them that is correct.
    """

    low: float
    high: float
    count: int
    probability: float
    precision: float


@dataclass(frozen=True)
class Calibration:
    """How probabilities compare with how often they are right.

    Attributes:
        bins: the intervals that hold any entity.
        expected_error: mean distance between probability and precision over the bins, weighted
            by count (expected calibration error, Naeini, Cooper and Hauskrecht 2015,
            https://doi.org/10.1609/aaai.v29i1.9602).
        count: entities in all bins.
    """

    bins: tuple[CalibrationBin, ...]
    expected_error: float
    count: int


@dataclass(frozen=True)
class ThresholdScores:
    """Scores when only entities with at least this probability are kept."""

    threshold: float
    precision: float
    recall: float
    f1: float
    kept: int


def calibrate(
    probabilities: Sequence[float], correct: Sequence[bool], *, num_bins: int = 10
) -> Calibration:
    """Group predicted entities by probability and compare with how many are correct.

    Args:
        probabilities: of each predicted entity, in [0, 1].
        correct: whether each is correct.
        num_bins: intervals of equal width.
    """
    values = np.asarray(probabilities, dtype=np.float64)
    right = np.asarray(correct, dtype=np.float64)
    index = np.minimum((values * num_bins).astype(np.int64), num_bins - 1)
    bins = [
        CalibrationBin(
            low=i / num_bins,
            high=(i + 1) / num_bins,
            count=int(chosen.sum()),
            probability=float(values[chosen].mean()),
            precision=float(right[chosen].mean()),
        )
        for i in range(num_bins)
        if (chosen := index == i).any()
    ]
    distance = sum(b.count * abs(b.probability - b.precision) for b in bins)
    return Calibration(tuple(bins), distance / len(values) if len(values) else 0.0, len(values))


def scores_by_threshold(
    probabilities: Sequence[float],
    correct: Sequence[bool],
    num_gold: int,
    *,
    thresholds: Sequence[float] | None = None,
) -> list[ThresholdScores]:
    """Score what is left when less probable entities are dropped.

    Args:
        probabilities: of each predicted entity.
        correct: whether each is correct.
        num_gold: entities in gold.
        thresholds: probabilities to cut at; by default 0 to 0.95 in steps of 0.05, then 0.99.
    """
    if thresholds is None:
        thresholds = [*(step / 20 for step in range(20)), 0.99]
    values = np.asarray(probabilities, dtype=np.float64)
    right = np.asarray(correct, dtype=bool)
    kept = np.array([(values >= cut).sum() for cut in thresholds])
    kept_right = np.array([right[values >= cut].sum() for cut in thresholds])
    precision, recall, f1 = precision_recall_f1(
        kept_right, kept, np.full(len(thresholds), num_gold)
    )
    return [
        ThresholdScores(cut, float(p), float(r), float(f), int(k))
        for cut, p, r, f, k in zip(thresholds, precision, recall, f1, kept, strict=True)
    ]
