"""Early stopping: which epoch is the best, when it is over, and that a stop changes neither."""

from hypothesis import given
from hypothesis import strategies as st

from bilstm_crf.training.early_stopping import EarlyStopping

SCORES = st.lists(st.integers(0, 5).map(lambda tenth: tenth / 10), max_size=12)


def test_of_equal_epochs_the_first_is_the_best() -> None:
    stopping = EarlyStopping(2)
    assert [stopping.add(f1) for f1 in (0.0, 0.0, 0.5, 0.5, 0.4)] == [
        True, False, True, False, False,
    ]  # fmt: skip
    assert stopping.should_stop


def test_patience_counts_from_the_best() -> None:
    stopping = EarlyStopping(2)
    ends = []
    for f1 in (0.1, 0.0, 0.2, 0.1, 0.1):
        stopping.add(f1)
        ends.append(stopping.should_stop)
    assert ends == [False, False, False, False, True]


@given(SCORES)
def test_without_patience_it_never_ends(scores: list[float]) -> None:
    stopping = EarlyStopping(None)
    for f1 in scores:
        stopping.add(f1)
        assert not stopping.should_stop


@given(SCORES, st.integers(1, 4))
def test_the_best_is_the_first_maximum(scores: list[float], patience: int) -> None:
    stopping = EarlyStopping(patience)
    best = [number for number, f1 in enumerate(scores) if stopping.add(f1)]
    assert best[-1:] == [scores.index(max(scores))] if scores else best == []


@given(SCORES, SCORES, st.integers(1, 4))
def test_the_state_survives_a_stop(before: list[float], after: list[float], patience: int) -> None:
    whole, first, second = (EarlyStopping(patience) for _ in range(3))
    for f1 in before:
        whole.add(f1)
        first.add(f1)
    second.load_state_dict(first.state_dict())
    for f1 in after:
        assert second.add(f1) == whole.add(f1)
        assert second.should_stop == whole.should_stop
