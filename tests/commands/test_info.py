"""``bilstm-crf info``: what is said of a model."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from bilstm_crf.commands.info import config_of, describe_model, print_transitions, transition_table
from bilstm_crf.errors import ModelFileError
from bilstm_crf.prediction.model_file import TrainedModel, load_model, save_model

FIXTURE = Path(__file__).parent.parent / "fixtures" / "model-v1.pt"


@pytest.fixture(scope="module")
def model() -> TrainedModel:
    return load_model(FIXTURE)


def test_everything_of_interest_is_there(model: TrainedModel) -> None:
    lines = describe_model(FIXTURE)
    found = dict(lines)
    assert found["entity types"] == "LOC, PER"
    assert found["labels"] == "9 in BIOES, files in BIO"
    assert found["words"].endswith("1 from vectors only")
    assert found["weights"].endswith(" in float32")
    assert found["weights hash"] == f"sha256 {model.weights_hash()}"
    assert found["dev F1"].startswith("100.00 (P 100.00, R 100.00, 7 entities)")
    sha256 = model.record["data"]["train"][0]["sha256"]
    assert found["train data"].endswith(f"train.conll (sha256 {sha256})")
    assert "vectors data" in found
    assert f"torch {model.record['versions']['torch']}" in found["made with"]
    settings = [value for name, value in lines if name == "setting"]
    assert "model.lstm.hidden_size: 8" in settings
    assert not [line for line in settings if "layers" in line]  # as by default
    assert "temperature" not in found


def test_a_calibrated_model_in_half_precision(model: TrainedModel, tmp_path: Path) -> None:
    save_model(replace(model.in_half(), temperature=1.25), tmp_path / "model.pt")
    found = dict(describe_model(tmp_path / "model.pt"))
    assert found["temperature"] == "1.2500"
    assert found["weights"].endswith(" in float16")


def test_the_configuration_comes_back(tmp_path: Path, model: TrainedModel) -> None:
    assert yaml.safe_load(config_of(FIXTURE))["model"]["lstm"]["hidden_size"] == 8
    save_model(replace(model, record={}), tmp_path / "model.pt")
    with pytest.raises(ModelFileError, match="no configuration on record"):
        config_of(tmp_path / "model.pt")


def test_transitions_are_those_of_the_crf(
    model: TrainedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    names, table = transition_table(model)
    labels = list(model.vocabularies.labels)
    assert names == ["START", *labels]
    scores: dict[str, Any] = model.weights
    inside = torch.tensor(table)[1:, :-1]
    torch.testing.assert_close(inside, scores["head.transitions"])
    torch.testing.assert_close(torch.tensor(table)[0, :-1], scores["head.start_transitions"])
    torch.testing.assert_close(torch.tensor(table)[1:, -1], scores["head.end_transitions"])
    print_transitions(FIXTURE)
    assert capsys.readouterr().out.split()[:3] == ["from", "\\", "to"]


def test_a_model_without_crf_has_no_transitions(model: TrainedModel) -> None:
    weights = {n: t for n, t in model.weights.items() if not n.startswith("head.")}
    with pytest.raises(ModelFileError, match="its head is softmax"):
        transition_table(replace(model, weights=weights))
