"""The command calibrate: fits, tells, and stores."""

from pathlib import Path

import pytest
from random_models import random_model
from typer.testing import CliRunner

from bilstm_crf.cli import app
from bilstm_crf.errors import DataError
from bilstm_crf.prediction.model_file import load_model, save_model


def test_stores_a_temperature_that_probabilities_heed(tmp_path: Path):
    model, dev = tmp_path / "model.pt", tmp_path / "dev.conll"
    save_model(random_model(), model)
    rows = ["Mira B-PER\nHolt I-PER\nsang O\n", "the O\nrain O\n", "Norvale B-LOC\nx O\n"]
    dev.write_text("\n".join(rows * 5), encoding="utf-8")
    runner = CliRunner()
    copy = tmp_path / "calibrated.pt"
    result = runner.invoke(app, ["calibrate", str(model), str(dev), "--output", str(copy)])
    assert result.exit_code == 0, result.stderr
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0][1:] == ["predicted", "entities"]
    (before,), (after,) = ([row for row in lines if row[0] == n] for n in ("before", "after"))
    assert before[1] == "1.0000"
    assert float(after[1]) == pytest.approx(load_model(copy).temperature, abs=1e-3)
    assert load_model(model).temperature == 1.0
    assert runner.invoke(app, ["calibrate", str(model), str(dev)]).exit_code == 0
    assert load_model(model).temperature == load_model(copy).temperature
    assert load_model(model).weights_hash() == load_model(copy).weights_hash()


def test_needs_labels(tmp_path: Path):
    model, dev = tmp_path / "model.pt", tmp_path / "dev.txt"
    save_model(random_model(), model)
    dev.write_text("Mira\nsang\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["calibrate", str(model), str(dev)])
    assert isinstance(result.exception, DataError)
