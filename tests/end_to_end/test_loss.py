"""A loss that is no number any more ends the run, and no such model is kept."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from bilstm_crf.prediction.model_file import load_model
from bilstm_crf.training.optimizers import Optimizer


def test_a_huge_learning_rate_is_named_as_the_cause(
    command: Callable, make_config: Callable, tmp_path: Path
) -> None:
    sgd = {"type": "sgd", "learning_rate": 1000, "weight_decay": 1}
    path = make_config(optimizer=sgd, clip=None, schedule="constant", epochs=10)
    done = command("train", path, "--output-dir", tmp_path / "run")
    assert done.code == 1
    last = done.err.splitlines()[-1]
    assert last.startswith("error: ")
    assert "learning_rate" in last
    assert "Traceback" not in done.err
    model = tmp_path / "run" / "model.pt"
    if model.exists():
        assert all(t.isfinite().all() for t in load_model(model).weights.values())


def test_a_loss_of_nan_names_the_batch(
    command: Callable, make_config: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = iter(range(1, 100))
    step = Optimizer.step

    def poison(self: Optimizer, factor: float) -> None:
        step(self, factor)
        if next(steps) == 6:
            with torch.no_grad():
                self.dense_weights[0].fill_(float("nan"))

    monkeypatch.setattr(Optimizer, "step", poison)
    done = command("train", make_config(), "--output-dir", tmp_path / "run")
    assert done.code == 1
    last = done.err.splitlines()[-1]
    assert "the loss became nan in epoch 2, on a batch of 6 sentences" in last
    assert f"{tmp_path}/train.conll:" in last
    kept = load_model(tmp_path / "run" / "model.pt")
    assert kept.record["epoch"] == 1
    assert all(t.isfinite().all() for t in kept.weights.values())


def test_weights_that_the_last_step_of_an_epoch_ruined_are_not_saved(
    command: Callable, make_config: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = iter(range(1, 100))
    step = Optimizer.step

    def poison(self: Optimizer, factor: float) -> None:
        step(self, factor)
        if next(steps) == 4:
            with torch.no_grad():
                self.dense_weights[0].fill_(float("inf"))

    monkeypatch.setattr(Optimizer, "step", poison)
    done = command("train", make_config(), "--output-dir", tmp_path / "run")
    assert done.code == 1
    assert "are not finite after epoch 1, so this epoch was not saved as best" in done.err
    assert not (tmp_path / "run" / "model.pt").exists()
