"""The threshold of entities that is found on dev."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from bilstm_crf.corpus.labels import model_labels
from bilstm_crf.model.crf import CRF
from bilstm_crf.training.entity_threshold import best_entity_threshold


def found(f1: Callable[[float], float]) -> tuple[float, float]:
    """Return the threshold found for dev data on which thresholds reach this F1, and that set."""
    labels = model_labels(["PER"], "BIOES")
    network: Any = SimpleNamespace(head=CRF(len(labels)))
    dev: Any = SimpleNamespace(
        model_labels=labels,
        model_scheme="BIOES",
        score=lambda network: SimpleNamespace(f1=f1(network.head.entities[1])),
    )
    best = best_entity_threshold(network, dev)
    assert network.head.entities is not None
    return best, network.head.entities[1]


def test_the_best_threshold_is_found_and_set() -> None:
    assert found(lambda threshold: 1 - abs(threshold - 0.25)) == pytest.approx((0.25, 0.25))
    assert found(lambda threshold: threshold)[0] == pytest.approx(0.7)


def test_a_single_peak_does_not_outweigh_a_ridge() -> None:
    ridge = {0.3: 0.60, 0.35: 0.61, 0.4: 0.60, 0.6: 0.63}
    assert found(lambda threshold: ridge.get(round(threshold, 2), 0.5))[0] == pytest.approx(0.35)
