"""How sure a score is, and whether two systems differ: resampling over sentences.

Sentences are the units that are drawn, for entities in one sentence are not independent.
Scores depend on a sentence only through its entity counts, so sentences with equal
counts are pooled and only the size of each pool is drawn, for each type by itself: exact,
and 10,000 resamples of a corpus take a fraction of a second.

- bootstrap interval: Efron and Tibshirani 1993, chapter 13 (percentile interval);
- paired bootstrap test: Berg-Kirkpatrick, Burkett and Klein 2012,
  https://aclanthology.org/D12-1091/, two-sided;
- approximate randomisation: Noreen 1989, chapter 2; Yeh 2000, https://aclanthology.org/C00-2137/.
"""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bilstm_crf.evaluation.counts import Counts, EntityCounts
from bilstm_crf.evaluation.metrics import Floats, precision_recall_f1

RESAMPLES = 10_000
LEVEL = 0.95
# differences below this come from rounding; without it ties would be decided by it
_TIE = 1e-12


@dataclass(frozen=True)
class Interval:
    """A two-sided interval of a score."""

    low: float
    high: float


@dataclass(frozen=True)
class ScoreIntervals:
    """Intervals of the three scores of one type or of the micro average."""

    precision: Interval
    recall: Interval
    f1: Interval


@dataclass(frozen=True)
class BootstrapIntervals:
    """Bootstrap intervals of the micro average and of each type.

    Attributes:
        micro: of all entities together.
        types: of each type.
        level: the share of samples whose interval is meant to hold the true score.
        resamples: how many times the sentences were drawn.
    """

    micro: ScoreIntervals
    types: dict[str, ScoreIntervals]
    level: float
    resamples: int

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain types for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Difference:
    """How far apart the F1 of two systems is on the same sentences.

    Attributes:
        first: F1 of the first system.
        second: F1 of the second.
        difference: second minus first.
        interval: bootstrap interval of the difference.
        p_bootstrap: p-value of the paired bootstrap, two-sided.
        p_randomisation: p-value of approximate randomisation, two-sided.
    """

    first: float
    second: float
    difference: float
    interval: Interval
    p_bootstrap: float
    p_randomisation: float


@dataclass(frozen=True)
class Comparison:
    """Two systems compared over all entities and per type.

    The p-values per type are not corrected for the number of types looked at.
    """

    micro: Difference
    types: dict[str, Difference]
    level: float
    resamples: int

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain types for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class SeedSummary:
    """One score over several runs that differ only in the seed.

    Attributes:
        mean: of the runs.
        sd: sample standard deviation, 0 for a single run.
        num_runs: how many.
    """

    mean: float
    sd: float
    num_runs: int


def summarise_seeds(values: Sequence[float]) -> SeedSummary:
    """Return mean and sample standard deviation; ValueError if there is no value."""
    if not values:
        raise ValueError("no run to summarise")
    sd = statistics.stdev(values) if len(values) > 1 else 0.0
    return SeedSummary(statistics.fmean(values), sd, len(values))


def bootstrap_intervals(
    counts: EntityCounts, *, resamples: int = RESAMPLES, level: float = LEVEL, seed: int = 0
) -> BootstrapIntervals:
    """Compute bootstrap intervals of precision, recall and F1.

    Args:
        counts: entity counts per sentence and type.
        resamples: how many times to draw.
        level: share of samples whose interval should hold the true score.
        seed: of the draws; the same seed gives the same intervals.
    """

    def intervals(rows: Counts) -> ScoreIntervals:
        pools, sizes = _pool(rows)
        drawn = _bootstrap_weights(sizes, resamples, seed) @ pools
        low, high = _bounds(np.stack(_scores(drawn), axis=-1), level)
        return ScoreIntervals(*map(Interval, low.tolist(), high.tolist()))

    micro, *types = map(intervals, _columns(counts))
    return BootstrapIntervals(micro, dict(zip(counts.types, types, strict=True)), level, resamples)


def compare_systems(
    first: EntityCounts,
    second: EntityCounts,
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: int = 0,
) -> Comparison:
    """Compare two systems on the same sentences.

    Args:
        first: entity counts of the first system.
        second: of the second, with the same sentences and types.
        resamples: how many times to draw.
        level: of the interval of the difference.
        seed: of the draws.

    Raises:
        ValueError: the counts do not belong to the same sentences and types.
    """
    if first.types != second.types or not np.array_equal(first.gold, second.gold):
        raise ValueError("the two systems were not scored on the same sentences and types")

    def difference(rows_a: Counts, rows_b: Counts) -> Difference:
        pools, sizes = _pool(np.concatenate([rows_a, rows_b], axis=1))
        a, b = pools[:, :3], pools[:, 3:]
        f1_a, f1_b = float(_scores(sizes @ a)[2]), float(_scores(sizes @ b)[2])
        observed = f1_b - f1_a

        drawn_sizes = _bootstrap_weights(sizes, resamples, seed)
        drawn = _scores(drawn_sizes @ b)[2] - _scores(drawn_sizes @ a)[2]
        kept = _kept_weights(sizes, resamples, seed)
        swapped = sizes - kept
        shuffled = _scores(kept @ b + swapped @ a)[2] - _scores(kept @ a + swapped @ b)[2]

        low, high = _bounds(drawn, level)
        return Difference(
            first=f1_a,
            second=f1_b,
            difference=observed,
            interval=Interval(float(low), float(high)),
            p_bootstrap=_p_value(drawn - observed, observed),
            p_randomisation=_p_value(shuffled, observed),
        )

    micro, *types = map(difference, _columns(first), _columns(second))
    return Comparison(micro, dict(zip(first.types, types, strict=True)), level, resamples)


def _columns(counts: EntityCounts) -> list[Counts]:
    """Return correct, predicted and gold counts, ``(sentences, 3)``: of all, then by type."""
    stacked = np.stack([counts.correct, counts.predicted, counts.gold], axis=-1)
    return [stacked.sum(axis=1), *np.moveaxis(stacked, 1, 0)]


def _pool(rows: Counts) -> tuple[Floats, Counts]:
    """Return the distinct rows and how often each occurs."""
    if not len(rows):
        rows = np.zeros((1, rows.shape[1]), dtype=np.int64)
    pools, sizes = np.unique(rows, axis=0, return_counts=True)
    # floats, for numpy multiplies matrices of integers slowly; exact up to 2^53
    return pools.astype(np.float64), sizes


def _scores(totals: Floats) -> tuple[Floats, Floats, Floats]:
    """Score summed counts whose last axis is correct, predicted, gold."""
    return precision_recall_f1(totals[..., 0], totals[..., 1], totals[..., 2])


def _bootstrap_weights(sizes: Counts, resamples: int, seed: int) -> Floats:
    """Draw how often each pool occurs in a resample; shape ``(resamples, pools)``."""
    num_sentences = int(sizes.sum())
    rng = np.random.default_rng(seed)
    return rng.multinomial(num_sentences, sizes / num_sentences, resamples).astype(np.float64)


def _kept_weights(sizes: Counts, resamples: int, seed: int) -> Floats:
    """Draw how many sentences of each pool keep their system; shape ``(resamples, pools)``."""
    rng = np.random.default_rng(seed)
    return rng.binomial(sizes, 0.5, (resamples, len(sizes))).astype(np.float64)


def _bounds(samples: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the percentile bounds over the resamples, the first axis."""
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(samples, [tail, 1.0 - tail], axis=0)
    return low, high


def _p_value(null: Floats, observed: float) -> float:
    """Return the share of null differences at least as large as the observed one.

    The observed one counts among them, so no p-value is 0 (Davison and Hinkley 1997, 4.2.3).
    """
    as_large = int((np.abs(null) >= abs(observed) - _TIE).sum())
    return (as_large + 1) / (len(null) + 1)
