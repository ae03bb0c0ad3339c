"""The seed decides everything, and nothing else does."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bilstm_crf.prediction.model_file import load_model


def losses(run: Path) -> list[tuple[float, Any]]:
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [(json.loads(line)["train_loss"], json.loads(line)["dev"]) for line in lines]


def test_equal_seeds_in_processes_that_hash_strings_differently(
    command: Callable, command_beside: Callable, make_config: Callable, tmp_path: Path
) -> None:
    config = make_config()
    for number in ("1", "2"):
        done = command_beside(
            "train", config, "--output-dir", tmp_path / number, PYTHONHASHSEED=number
        )
        assert done.returncode == 0, done.stderr
    command("train", config, "--output-dir", tmp_path / "other", "--set", "seed=4")
    first, second, other = (load_model(tmp_path / run / "model.pt") for run in ("1", "2", "other"))
    for part in ("labels", "columns"):
        assert getattr(first.vocabularies, part) == getattr(second.vocabularies, part)
    assert first.vocabularies.words.trained == second.vocabularies.words.trained
    assert first.vocabularies.chars.strings == second.vocabularies.chars.strings
    assert losses(tmp_path / "1") == losses(tmp_path / "2")
    assert first.weights_hash() == second.weights_hash()
    assert losses(tmp_path / "1") != losses(tmp_path / "other")
    assert first.weights_hash() != other.weights_hash()
    assert [model.record["seed"] for model in (first, second, other)] == [3, 3, 4]
