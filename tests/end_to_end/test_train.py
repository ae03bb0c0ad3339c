"""Training from the command line: what is learned, what is written, what is shown."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from bilstm_crf import Tagger, evaluate, load_config, train
from bilstm_crf.commands import final_scores
from bilstm_crf.commands.run_report import write_run_report
from bilstm_crf.corpus.readers import read_split
from bilstm_crf.errors import DataError
from bilstm_crf.prediction.model_file import load_model


def test_twenty_sentences_are_learned_by_heart(
    command: Callable, make_config: Callable, tmp_path: Path, report_of: Callable
) -> None:
    config = make_config(
        sentences=20, epochs=30, data={"dev": "train.conll", "test": None},
        model={"dropout": {"inputs": 0, "outputs": 0, "words": 0}}, schedule="constant",
        patience=10,
    )  # fmt: skip
    done = command("train", config, "--output-dir", tmp_path / "run")
    assert done.code == 0
    assert done.out == ""
    report = report_of(tmp_path / "run")
    assert report["dev"]["f1"] == 1.0
    assert "dev F1 100.00" in done.err


def test_a_run_folder_holds_model_metrics_reports_and_the_configuration(
    command: Callable, make_config: Callable, tmp_path: Path, metrics_of: Callable
) -> None:
    path = make_config()
    run = tmp_path / "somewhere" / "run"
    done = command("train", path, "--output-dir", run)
    assert done.code == 0
    names = {file.name for file in run.iterdir()}
    assert names >= {"model.pt", "config.yaml", "metrics.jsonl", "report.json", "report.txt"}
    assert "state.pt" not in names
    assert not [name for name in names if "tmp" in name]
    lines = metrics_of(run)
    assert [line["epoch"] for line in lines] == [1, 2, 3]
    assert all(line["train_loss"] > 0 for line in lines)
    assert load_config(run / "config.yaml") == load_config(path)
    epochs = [line for line in done.err.splitlines() if line.startswith("epoch ")]
    assert len(epochs) == 3
    assert all(re.search(r"loss \d+\.\d+, dev F1 \d+\.\d\d", line) for line in epochs)
    assert "seed 3" in done.err


def test_a_finished_run_is_reported(
    command: Callable, make_config: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(final_scores, "write_run_report", write_run_report)
    done = command("train", make_config(epochs=1), "--output-dir", tmp_path / "run")
    assert done.code == 0
    assert f"report: {tmp_path}/run/report.html" in done.err
    names = {file.name for file in (tmp_path / "run").iterdir()}
    assert names >= {"report.html", "analysis.json", "predictions.conll"}


def test_a_run_without_anything_to_score_says_so_and_reports_its_loss(
    command: Callable, make_config: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(final_scores, "write_run_report", write_run_report)
    config = make_config(epochs=1, data={"dev": None, "test": None})
    done = command("train", config, "--output-dir", tmp_path / "run")
    assert done.code == 0
    assert "no data.dev and no data.test: nothing to score" in done.err
    assert f"report: {tmp_path}/run/report.html" in done.err
    assert "train_loss" in (tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf-8")
    assert not (tmp_path / "run" / "report.txt").exists()


def test_a_report_that_cannot_be_made_does_not_spoil_the_run(
    command: Callable,
    make_config: Callable,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    report_of: Callable,
) -> None:
    def fail(folder: Path, tagger: Tagger) -> Path:
        raise DataError("gone", folder)

    monkeypatch.setattr(final_scores, "write_run_report", fail)
    done = command("train", make_config(epochs=1), "--output-dir", tmp_path / "run")
    assert done.code == 0
    assert "warning: no report page" in done.err
    assert report_of(tmp_path / "run")["best_epoch"] == 1


def test_output_to_a_file_is_plain_lines(
    command_beside: Callable, make_config: Callable, tmp_path: Path
) -> None:
    path = make_config()
    done = command_beside("train", path, "--output-dir", tmp_path / "run")
    assert done.returncode == 0
    text = done.stdout + done.stderr
    assert "\x1b" not in text
    assert "\r" not in text
    assert len(text.splitlines()) < 60
    assert len(re.findall(r"^epoch ", text, re.MULTILINE)) == 3


def test_the_saved_model_predicts_as_the_one_in_memory(
    make_config: Callable, tmp_path: Path, metrics_of: Callable, report_of: Callable
):
    path = make_config(epochs=20, batch_size=3)
    config = load_config(path)
    model = train(config, tmp_path / "run")
    report = report_of(tmp_path / "run")
    best = max(metrics_of(tmp_path / "run"), key=lambda line: line["dev"]["f1"])
    assert report["dev"]["f1"] == best["dev"]["f1"] > 0
    again = evaluate(model, tmp_path / "test.conll")
    assert again.f1 == report["test"]["f1"]
    sentences = list(read_split([tmp_path / "test.conll"]))
    tagger = Tagger.load(model)
    predicted = tagger.predict_tokens([sentence.tokens for sentence in sentences])
    assert [len(labels) for labels in predicted] == [len(s.tokens) for s in sentences]
    assert load_model(model).weights_hash() == report["weights_sha256"]


def test_the_model_file_needs_nothing_but_itself(
    command: Callable, make_config: Callable, tmp_path: Path
) -> None:
    path = make_config()
    command("train", path, "--output-dir", tmp_path / "run")
    elsewhere = tmp_path / "elsewhere" / "renamed.pt"
    elsewhere.parent.mkdir()
    (tmp_path / "run" / "model.pt").rename(elsewhere)
    for file in tmp_path.glob("*.conll"):
        file.unlink()
    assert Tagger.load(elsewhere).predict(["Ada Berg went to Fen ."])
    shown = command("info", elsewhere)
    assert shown.code == 0
    assert "entity types:   LOC, PER" in shown.out
    settings = command("info", elsewhere, "--config")
    assert "hidden_size: 16" in settings.out


def test_weights_in_half_precision(
    command: Callable, make_config: Callable, tmp_path: Path
) -> None:
    path = make_config(epochs=6)
    command("train", path, "--output-dir", tmp_path / "whole")
    done = command("train", path, "--output-dir", tmp_path / "half", "--half")
    assert re.search(
        r"^dev F1 with weights in float16: [\d.]+ \(float32: [\d.]+, [+-][\d.]+\)$",
        done.err, re.MULTILINE,
    )  # fmt: skip
    whole, half = (load_model(tmp_path / run / "model.pt") for run in ("whole", "half"))
    assert {t.dtype for t in half.weights.values()} == {torch.float16}
    for name, tensor in half.weights.items():
        torch.testing.assert_close(tensor, whole.weights[name].half())
    sizes = [(tmp_path / run / "model.pt").stat().st_size for run in ("whole", "half")]
    assert sizes[1] < 0.75 * sizes[0]
