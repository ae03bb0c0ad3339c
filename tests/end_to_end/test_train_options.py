"""Training with several seeds, with curves for TensorBoard, and in a thread."""

import json
import re
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

from bilstm_crf import load_config, train
from bilstm_crf.prediction.model_file import load_model


def test_several_seeds_report_their_spread_and_keep_the_best(
    command: Callable, make_config: Callable, tmp_path: Path, report_of: Callable
) -> None:
    done = command("train", make_config(), "--output-dir", tmp_path / "run", "--seeds", 2)
    assert done.code == 0
    folders = [tmp_path / "run" / name for name in ("seed-3", "seed-4")]
    reports = [report_of(folder) for folder in folders]
    whole = report_of(tmp_path / "run")
    values = [report["test"]["f1"] for report in reports]
    assert whole["seeds"]["test"]["f1"] == values
    assert whole["seeds"]["test"]["mean"] == pytest.approx(sum(values) / 2)
    assert [report["seed"] for report in reports] == [3, 4]
    assert reports[0]["weights_sha256"] != reports[1]["weights_sha256"]
    best = max(reports, key=lambda report: report["dev"]["f1"])
    assert whole["weights_sha256"] == best["weights_sha256"]
    assert load_model(tmp_path / "run" / "model.pt").weights_hash() == best["weights_sha256"]
    assert re.search(r"^dev +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+$", done.out, re.MULTILINE)
    again = command("train", "--resume", tmp_path / "run")
    assert again.code == 1
    assert "all seeds are finished" in again.err


def test_curves_for_tensorboard(
    command: Callable,
    make_config: Callable,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    metrics_of: Callable,
) -> None:
    points: dict[str, list[tuple[int, float]]] = {}
    places: list[tuple[str, int]] = []

    class Writer:
        """Stands for TensorBoard's own, which is not installed everywhere."""

        def __init__(self, folder: str, purge_step: int):
            places.append((folder, purge_step))

        def add_scalar(self, name: str, value: float, step: int) -> None:
            points.setdefault(name, []).append((step, value))

        def flush(self) -> None: ...

        def close(self) -> None:
            places.append(("closed", 0))

    module = ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = Writer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: True)
    done = command("train", make_config(tensorboard=True), "--output-dir", tmp_path / "run")
    assert done.code == 0
    assert places == [(f"{tmp_path}/run/tensorboard", 1), ("closed", 0)]
    metrics = metrics_of(tmp_path / "run")
    assert points["train/loss"] == [(line["epoch"], line["train_loss"]) for line in metrics]
    assert points["dev/f1"] == [(line["epoch"], line["dev"]["f1"]) for line in metrics]


def test_training_in_a_thread_leaves_the_signals_alone(
    make_config: Callable, tmp_path: Path
) -> None:
    before = signal.getsignal(signal.SIGINT)
    config = load_config(make_config(epochs=1))
    with ThreadPoolExecutor(1) as pool:
        model = pool.submit(train, config, tmp_path / "run").result()
    assert model.exists()
    assert signal.getsignal(signal.SIGINT) is before


def test_curves_for_tensorboard_need_the_extra(
    command: Callable, make_config: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    done = command("train", make_config(tensorboard=True), "--output-dir", tmp_path / "run")
    assert done.code == 1
    assert "pip install 'bilstm-crf[tensorboard]'" in done.err
    assert not (tmp_path / "run" / "model.pt").exists()


@pytest.mark.parametrize(("constraints", "is_told"), [("none", True), ("decode", False)])
def test_predictions_against_the_scheme_are_counted(
    command: Callable, make_config: Callable, tmp_path: Path, constraints: str, is_told: bool
) -> None:
    config = make_config(epochs=1, model={"crf": {"constraints": constraints}})
    untrained = ("--set", "training.optimizer.learning_rate=1e-9")
    done = command("train", config, *untrained, "--output-dir", tmp_path / "run")
    assert done.code == 0
    counted = re.findall(r"test: (\d+) of \d+ predicted label sequences are malformed", done.err)
    assert bool(counted) == is_told
    assert all(int(count) > 0 for count in counted)


@pytest.mark.parametrize(("threshold", "members"), [("auto", 2), (0.1, 1)])
def test_entities_by_probability_from_training_to_prediction(
    command: Callable, make_config: Callable, tmp_path: Path, threshold: str | float, members: int
) -> None:
    crf = {"decoding": "expected_f1", "entity_threshold": threshold}
    config = make_config(model={"crf": crf, "members": members}, epochs=6)
    done = command("train", config, "--output-dir", tmp_path / "run")
    assert done.code == 0, done.err
    assert ("the best on dev" in done.err) == (threshold == "auto")
    model = load_model(tmp_path / "run" / "model.pt")
    found = model.section.crf.entity_threshold
    assert found == threshold or 0.1 <= found <= 0.7
    report = json.loads((tmp_path / "run" / "report.json").read_text(encoding="utf-8"))
    scores = command("eval", tmp_path / "run", tmp_path / "test.conll", "--json", "-")
    assert json.loads(scores.out)["f1"] == report["test"]["f1"] > 0
    assert load_model(tmp_path / "run" / "model.pt").section.members == members
    # Labels alone, which otherwise need no torch, and with probabilities: the same entities.
    text = (tmp_path / "test.conll").read_text(encoding="utf-8")
    (tmp_path / "tokens.txt").write_text(
        "\n".join(line.partition(" ")[0] for line in text.split("\n")), encoding="utf-8"
    )
    plain, probable = (
        command("predict", tmp_path / "run" / "model.pt", tmp_path / "tokens.txt", *options).out
        for options in ([], ["--probabilities"])
    )
    assert [line.split("\t")[:2] for line in plain.splitlines()] == [
        line.split("\t")[:2] for line in probable.splitlines()
    ]


def test_weights_of_types_that_are_not_there_or_of_no_margin_are_told(
    command: Callable, make_config: Callable
) -> None:
    weights = ("--set", "model.crf.type_weights={PERSON: 2}")
    done = command("train", make_config(epochs=1), *weights)
    assert done.code == 1
    assert "model.crf.type_weights: 'PERSON' is no entity type of the training data" in done.err
    assert "which has LOC, PER" in done.err
    done = command("train", make_config(epochs=1), "--set", "model.crf.missed_weight=2")
    assert done.code == 0
    assert "warning: model.crf.margin is 0" in done.err


def test_entities_by_probability_need_a_crf_and_beginnings(
    command: Callable, make_config: Callable
) -> None:
    wanted = ("--set", "model.crf.decoding=expected_f1")
    done = command("train", make_config(), *wanted, "--set", "model.head=softmax")
    assert (done.code, "expected_f1 needs model.head: crf" in done.err) == (1, True)
    done = command("train", make_config(), *wanted, "--set", "labels.model_scheme=IO")
    assert (done.code, "not IO" in done.err) == (1, True)
