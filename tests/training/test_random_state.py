"""The random generators: seeded alike, and put back where they were."""

import random
from pathlib import Path

import numpy as np
import torch

from bilstm_crf.prediction.archive import load_archive, save_archive
from bilstm_crf.training.random_state import load_random_state, random_state, seed_everything


def draw() -> list[float]:
    gauss = random.gauss(0, 1)  # keeps one number back, as numpy does
    return [random.random(), gauss, *np.random.standard_normal(3), *torch.rand(3).tolist()]


def test_a_seed_decides_all_generators() -> None:
    seed_everything(5)
    first = draw()
    seed_everything(5)
    assert draw() == first
    seed_everything(6)
    assert all(a != b for a, b in zip(draw(), first, strict=True))


def test_the_state_comes_back_from_a_file(tmp_path: Path) -> None:
    seed_everything(5)
    draw()
    save_archive({"random": random_state()}, tmp_path / "state.pt", "test", 1)
    expected = draw()
    seed_everything(99)
    load_random_state(load_archive(tmp_path / "state.pt", "test", 1)["random"])
    assert draw() == expected
