"""Training from the command line: what is learned, what is written, what is shown."""

import json
import re
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from bilstm_crf import Tagger, evaluate, load_config, train
from bilstm_crf.commands import final_scores
from bilstm_crf.commands.run_report import write_run_report
from bilstm_crf.corpus.readers import read_split
from bilstm_crf.errors import DataError
from bilstm_crf.prediction.model_file import load_model


def metrics_of(run: Path) -> list[dict[str, Any]]:
    text = (run / "metrics.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def report_of(run: Path) -> dict[str, Any]:
    return dict(json.loads((run / "report.json").read_text(encoding="utf-8")))


def test_twenty_sentences_are_learned_by_heart(
    command: Callable, make_config: Callable, tmp_path: Path
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
    command: Callable, make_config: Callable, tmp_path: Path
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


def test_a_report_that_cannot_be_made_does_not_spoil_the_run(
    command: Callable, make_config: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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


def test_the_saved_model_predicts_as_the_one_in_memory(make_config: Callable, tmp_path: Path):
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


# Data that has no entities, or others


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("patience", [None, 1])
def test_dev_without_entities_chooses_nothing(
    command: Callable, make_config: Callable, tmp_path: Path, patience: int | None
) -> None:
    write(tmp_path / "dev.conll", "It O\nrained O\n. O\n\nNobody O\ncame O\n")
    done = command("train", make_config(patience=patience), "--output-dir", tmp_path / "run")
    assert done.code == 0
    assert "warning: no entities in the dev data" in done.err
    assert "dev F1 0.00" in done.err
    assert "epoch 3/3" in done.err
    assert "nan" not in done.err.lower()
    assert load_model(tmp_path / "run" / "model.pt").record["epoch"] == 3


def test_training_data_without_entities(
    command: Callable, make_config: Callable, tmp_path: Path
) -> None:
    write(tmp_path / "train.conll", "the O\nboats O\nstay O\n\nrain O\nfell O\n\nhm O\n")
    path = make_config(data={"dev": "train.conll", "test": "train.conll"})
    done = command("train", path, "--output-dir", tmp_path / "run")
    assert done.code == 0
    assert "warning: no entities in the training data" in done.err
    assert all(0 <= line["train_loss"] < 1e-6 for line in metrics_of(tmp_path / "run"))
    assert "loss 0.0000" in done.err
    assert "loss -" not in done.err
    report = report_of(tmp_path / "run")
    assert report["test"]["f1"] == 0.0
    assert report["test"]["support"] == 0
    tagger = Tagger.load(tmp_path / "run" / "model.pt")
    assert tagger.predict_tokens([["the", "boats"], ["unheard"]]) == [["O", "O"], ["O"]]


@pytest.mark.parametrize("constraints", ["none", "decode", "train_and_decode"])
def test_labels_against_the_scheme_cost_no_more_than_others(
    command: Callable, make_config: Callable, tmp_path: Path, constraints: str
) -> None:
    write(tmp_path / "train.conll", "Ada O\nBerg I-PER\nsang I-PER\n\nFen B-LOC\nwaits O\n")
    path = make_config(data={"dev": "train.conll", "test": None}, epochs=2,
                       model={"crf": {"constraints": constraints}})  # fmt: skip
    done = command("train", path, "--output-dir", tmp_path / "run")
    assert done.code == 0
    assert f"repaired in memory ({tmp_path}/train.conll:2: I-PER continues nothing" in done.err
    assert all(0 < line["train_loss"] < 20 for line in metrics_of(tmp_path / "run"))


def test_entity_types_that_training_never_saw_count_as_missed(
    command: Callable, make_config: Callable, tmp_path: Path
) -> None:
    path = make_config()
    write(
        tmp_path / "test.conll",
        "Ada B-PER\nBerg I-PER\nsang O\n\nFen B-LOC\nwaits O\n\nThe O\nMill B-ORG\nhired O\n",
    )
    done = command("train", path, "--output-dir", tmp_path / "run")
    assert done.code == 0
    assert "entity types in test that training never saw, scored as missed: ORG (1)" in done.err
    report = report_of(tmp_path / "run")
    assert report["test"]["support"] == 3
    assert report["test"]["types"]["ORG"]["support"] == 1
    assert report["test"]["types"]["ORG"]["recall"] == 0.0


def test_a_token_of_ten_thousand_characters(
    command: Callable, make_config: Callable, tmp_path: Path
) -> None:
    long = "x" * 10_000
    text = f"{long} B-LOC\n" + "word O\n" * 299 + "\nAda B-PER\n"
    path = make_config(data={"train": "long.conll", "test": None}, epochs=1)
    write(tmp_path / "long.conll", text)
    done = command("train", path, "--output-dir", tmp_path / "run")
    assert done.code == 0
    assert "1 distinct words longer than 40 characters" in done.err


@pytest.mark.slow
def test_long_tokens_and_long_sentences_need_little_memory(
    command_beside: Callable, make_config: Callable, tmp_path: Path
) -> None:
    sentences = ["x" * 10_000 + " B-LOC\n" + "word O\n" * 5] * 16 + ["word O\n" * 300] * 16
    write(tmp_path / "train.conll", "\n".join(sentences))
    model = {"word_embeddings": {"size": 100}, "char_encoder": {}, "lstm": {"hidden_size": 128}}
    path = make_config(epochs=1, batch_size=32, model=model)
    done = command_beside("train", path, "--output-dir", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert largest < 2 * 2**20  # KiB


# Several seeds


def test_several_seeds_report_their_spread_and_keep_the_best(
    command: Callable, make_config: Callable, tmp_path: Path
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
