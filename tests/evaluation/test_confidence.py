import pytest

from bilstm_crf.evaluation.confidence import calibrate, scores_by_threshold


def test_bins_hold_mean_probability_and_precision():
    found = calibrate([0.05, 0.92, 0.98, 1.0], [False, True, False, True])
    assert [(b.low, b.high, b.count) for b in found.bins] == [(0.0, 0.1, 1), (0.9, 1.0, 3)]
    assert found.bins[1].precision == pytest.approx(2 / 3)
    assert found.bins[1].probability == pytest.approx(2.9 / 3)
    assert found.expected_error == pytest.approx((0.05 + 3 * (2.9 / 3 - 2 / 3)) / 4)
    assert found.count == 4


def test_no_prediction_is_calibrated_by_nothing():
    found = calibrate([], [])
    assert (found.bins, found.expected_error, found.count) == ((), 0.0, 0)


def test_a_higher_threshold_trades_recall_for_precision():
    found = scores_by_threshold([0.3, 0.6, 0.9], [False, True, True], 4, thresholds=[0, 0.5, 0.95])
    assert [(s.kept, s.precision, s.recall) for s in found] == [
        (3, pytest.approx(2 / 3), 0.5),
        (2, 1.0, 0.5),
        (0, 0.0, 0.0),
    ]
    assert found[1].f1 == pytest.approx(2 / 3)
    assert scores_by_threshold([], [], 0)[0].f1 == 0.0
