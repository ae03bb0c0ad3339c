"""Learning-rate schedules: their values at known places, and that they survive a stop."""

import math

import pytest
from pydantic import TypeAdapter

from bilstm_crf.training.schedules import Schedule, ScheduleSection

SECTIONS = ["constant", "linear", "cosine", "decay", "plateau"]


def make(epochs: int = 10, **settings: object) -> Schedule:
    section = TypeAdapter(ScheduleSection).validate_python(settings)
    return Schedule(section, epochs)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"type": "constant"}, {0: 1, 5: 1, 10: 1}),
        ({"type": "linear"}, {0: 1, 2.5: 0.75, 5: 0.5, 10: 0}),
        ({"type": "linear", "final": 0.2}, {0: 1, 5: 0.6, 10: 0.2}),
        ({"type": "cosine"}, {0: 1, 2.5: 0.5 + math.sqrt(0.125), 5: 0.5, 10: 0}),
        ({"type": "cosine", "final": 0.5}, {0: 1, 5: 0.75, 10: 0.5}),
        ({"type": "decay", "rate": 0.5}, {0: 1, 0.9: 1, 1: 1 / 1.5, 4.2: 1 / 3}),
    ],
)
def test_values(settings: dict[str, object], expected: dict[float, float]) -> None:
    schedule = make(**settings)
    for done, factor in expected.items():
        assert schedule.factor(done) == pytest.approx(factor, abs=1e-12)


@pytest.mark.parametrize("kind", SECTIONS)
def test_a_warm_up_rises_from_nothing_to_the_schedule(kind: str) -> None:
    warm, cold = make(type=kind, warm_up=2), make(type=kind)
    assert warm.factor(0) == 0
    for done in (0.5, 1, 1.9):
        assert warm.factor(done) == pytest.approx(cold.factor(done) * done / 2)
    for done in (2, 5, 10):
        assert warm.factor(done) == cold.factor(done)


@pytest.mark.parametrize("kind", SECTIONS)
def test_the_factor_is_a_share_and_stays_put_after_the_last_epoch(kind: str) -> None:
    schedule = make(type=kind)
    factors = [schedule.factor(done / 10) for done in range(120)]
    assert all(0 <= factor <= 1 for factor in factors)
    assert factors == sorted(factors, reverse=True)
    assert set(factors[100:]) == {schedule.factor(10)}


def test_a_plateau_drops_after_so_many_epochs_without_a_better_f1() -> None:
    schedule = make(type="plateau", drop=0.1, patience=2)
    factors = []
    for f1 in (0.5, 0.5, 0.4, 0.6, 0.6, 0.6, 0.6, 0.6):
        schedule.epoch_done(f1)
        factors.append(schedule.factor(1))
    assert factors == pytest.approx([1, 1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.001])


@pytest.mark.parametrize("kind", SECTIONS)
def test_the_state_survives_a_stop(kind: str) -> None:
    seen = (0.3, 0.2, 0.2, 0.1, 0.25, 0.3, 0.2)
    whole = make(type=kind)
    for f1 in seen:
        whole.epoch_done(f1)
    before, after = make(type=kind), make(type=kind)
    for f1 in seen[:4]:
        before.epoch_done(f1)
    after.load_state_dict(before.state_dict())
    for f1 in seen[4:]:
        after.epoch_done(f1)
    assert after.factor(7) == whole.factor(7)
    assert after.state_dict() == whole.state_dict()
