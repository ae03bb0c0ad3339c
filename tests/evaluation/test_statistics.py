import time

import numpy as np
import pytest
from scipy.stats import kstest

from bilstm_crf.evaluation.counts import EntityCounts
from bilstm_crf.evaluation.statistics import (
    bootstrap_intervals,
    compare_systems,
    summarise_seeds,
)

TYPES = ("A", "B")


def draw_sentences(rng: np.random.Generator, sentences: int) -> np.ndarray:
    """Draw gold counts ``(sentences, types)``; B is the rarer type."""
    return rng.poisson((0.8, 0.3), size=(sentences, 2))


def draw_system(rng: np.random.Generator, gold: np.ndarray, skill: float) -> EntityCounts:
    """Draw a system's answers; sentences differ in how hard they are, as real ones do."""
    ease = rng.beta(6, 2, size=(len(gold), 1))
    correct = rng.binomial(gold, np.clip(ease * skill / 0.75, 0, 1))
    predicted = correct + rng.poisson(0.15, size=gold.shape)
    return EntityCounts(TYPES, correct, predicted, gold)


def f1(counts: EntityCounts, column: slice = slice(None)) -> float:
    correct, predicted, gold = (
        table[:, column].sum() for table in (counts.correct, counts.predicted, counts.gold)
    )
    return 2 * correct / (predicted + gold)


def test_intervals_hold_the_true_score_as_often_as_they_say():
    rng = np.random.default_rng(7)
    everything = draw_system(rng, draw_sentences(rng, 1_000_000), 0.6)
    truth = {"micro": f1(everything), "A": f1(everything, slice(0, 1))}
    held = dict.fromkeys(truth, 0)
    trials = 800
    for trial in range(trials):
        sample = draw_system(rng, draw_sentences(rng, 300), 0.6)
        found = bootstrap_intervals(sample, resamples=400, seed=trial)
        for name, interval in (("micro", found.micro.f1), ("A", found.types["A"].f1)):
            held[name] += interval.low <= truth[name] <= interval.high
    for name, count in held.items():
        assert count / trials == pytest.approx(0.95, abs=0.02), name


def test_equal_systems_give_uniform_p_values():
    rng = np.random.default_rng(3)
    bootstrap, randomisation = [], []
    for trial in range(500):
        gold = draw_sentences(rng, 300)
        found = compare_systems(
            draw_system(rng, gold, 0.6), draw_system(rng, gold, 0.6), resamples=200, seed=trial
        )
        bootstrap.append(found.micro.p_bootstrap)
        randomisation.append(found.micro.p_randomisation)
    for values in (bootstrap, randomisation):
        assert kstest(values, "uniform").pvalue > 0.01
        # three standard errors of 500 trials
        assert np.mean(np.array(values) < 0.05) == pytest.approx(0.05, abs=0.03)


def test_a_better_system_is_told_from_a_worse_one():
    rng = np.random.default_rng(1)
    gold = draw_sentences(rng, 600)
    worse, better = draw_system(rng, gold, 0.5), draw_system(rng, gold, 0.7)
    found = compare_systems(worse, better)
    assert found.micro.first == pytest.approx(f1(worse))
    assert found.micro.second == pytest.approx(f1(better))
    assert found.micro.difference == pytest.approx(f1(better) - f1(worse))
    assert found.micro.interval.low > 0
    assert found.micro.p_bootstrap < 0.001
    assert found.micro.p_randomisation < 0.001
    assert set(found.types) == set(TYPES)
    back = compare_systems(better, worse)
    assert back.micro.difference == -found.micro.difference


def test_a_system_equals_itself():
    rng = np.random.default_rng(1)
    system = draw_system(rng, draw_sentences(rng, 50), 0.6)
    found = compare_systems(system, system, resamples=100).micro
    assert (found.difference, found.p_bootstrap, found.p_randomisation) == (0.0, 1.0, 1.0)


def test_pooling_draws_as_whole_sentences_would():
    """The interval agrees with one from plain resampling of sentence indices."""
    rng = np.random.default_rng(11)
    sample = draw_system(rng, draw_sentences(rng, 200), 0.6)
    drawn = rng.integers(0, 200, size=(4000, 200))
    totals = [
        table.sum(axis=1)[drawn].sum(axis=1)
        for table in (sample.correct, sample.predicted, sample.gold)
    ]
    plain = np.quantile(2 * totals[0] / (totals[1] + totals[2]), [0.025, 0.975])
    pooled = bootstrap_intervals(sample).micro.f1
    assert (pooled.low, pooled.high) == pytest.approx(tuple(plain), abs=0.006)


def test_the_same_seed_gives_the_same_interval():
    rng = np.random.default_rng(2)
    sample = draw_system(rng, draw_sentences(rng, 100), 0.6)
    first = bootstrap_intervals(sample, seed=4)
    assert first == bootstrap_intervals(sample, seed=4)
    assert first != bootstrap_intervals(sample, seed=5)


@pytest.mark.parametrize("sentences", [0, 3])
def test_no_entity_gives_zero_intervals(sentences: int):
    empty = np.zeros((sentences, 0), dtype=np.int64)
    counts = EntityCounts((), empty, empty, empty)
    found = bootstrap_intervals(counts, resamples=10)
    assert (found.micro.f1.low, found.micro.f1.high, found.types) == (0.0, 0.0, {})
    assert compare_systems(counts, counts, resamples=10).micro.p_bootstrap == 1.0


def test_systems_scored_on_other_sentences_are_refused():
    rng = np.random.default_rng(2)
    first = draw_system(rng, draw_sentences(rng, 20), 0.6)
    second = draw_system(rng, draw_sentences(rng, 20), 0.6)
    with pytest.raises(ValueError, match="not scored on the same sentences"):
        compare_systems(first, second)


def test_ten_thousand_resamples_of_a_corpus_take_about_a_second():
    rng = np.random.default_rng(5)
    sample = draw_system(rng, draw_sentences(rng, 3_500), 0.6)
    started = time.process_time()
    bootstrap_intervals(sample)
    assert time.process_time() - started < 1.5


def test_seeds_are_summed_up_as_mean_and_sd():
    found = summarise_seeds([0.5, 0.6, 0.7])
    assert (found.mean, found.num_runs) == (pytest.approx(0.6), 3)
    assert found.sd == pytest.approx(0.1)
    assert summarise_seeds([0.5]).sd == 0.0
    with pytest.raises(ValueError, match="no run"):
        summarise_seeds([])
