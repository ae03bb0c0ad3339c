"""A model that reads documents, from training to prediction."""

import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DOCUMENTS = {"context": "document", "context_tokens": 20}


@pytest.fixture
def config(make_config: Callable, tmp_path: Path) -> Callable[..., Path]:
    """Write a corpus with three sentences a document, and a configuration."""

    def write(data: dict[str, Any], *, marks: bool = True, **training: Any) -> Path:
        path = make_config(data=data, **training)
        for split in ("train", "dev", "test"):
            file = tmp_path / f"{split}.conll"
            text = file.read_text(encoding="utf-8").replace("-DOCSTART- O\n\n", "")
            if marks:
                blocks = text.split("\n\n")
                blocks[::3] = [f"-DOCSTART- O\n\n{block}" for block in blocks[::3]]
                text = "\n\n".join(blocks)
            file.write_text(text, encoding="utf-8")
        return path

    return write


def test_what_is_trained_is_what_is_scored_and_predicted(
    command: Callable, config: Callable, tmp_path: Path, report_of: Callable
) -> None:
    done = command(
        "train", config(DOCUMENTS, epochs=12, epoch_steps=6), "--output-dir", tmp_path / "run"
    )
    assert done.code == 0, done.err
    assert "train: 24 sentences, " in done.err
    told = re.search(r"train: 8 documents, read in (\d+) windows of at most 20 tokens", done.err)
    assert told
    assert 8 < int(told[1]) < 24
    assert "marks of documents" not in done.err
    report = report_of(tmp_path / "run")
    assert report["test"]["f1"] > 0
    model, test = tmp_path / "run" / "model.pt", tmp_path / "test.conll"
    scores = command("eval", model, test, "--json", "-")
    assert scores.code == 0
    assert f'"f1": {report["test"]["f1"]}' in scores.out
    plain, exact = (
        command("predict", model, test, "--output-format", "conll", *more)
        for more in ([], ["--probabilities", "--device", "cpu"])
    )
    lines = [line.rpartition(" ")[0] if " 0." in line or " 1." in line else line
             for line in exact.out.split("\n")]  # fmt: skip
    assert plain.out.split("\n") == lines
    (tmp_path / "predicted.conll").write_text(plain.out, encoding="utf-8")
    from_lines = command("eval", "--predictions", tmp_path / "predicted.conll", "--json", "-")
    assert f'"f1": {report["test"]["f1"]}' in from_lines.out
    assert "the sentences around in the document, 20 tokens at once" in command("info", model).out


def test_windows_of_one_sentence_train_the_model_of_sentences(
    command: Callable, config: Callable, tmp_path: Path, ending: Callable
) -> None:
    for name, data in (("plain", {}), ("windows", {"context": "document", "context_tokens": 1})):
        path = config(data, accumulate=2)
        assert command("train", path, "--output-dir", tmp_path / name).code == 0
    assert ending(tmp_path / "windows") == ending(tmp_path / "plain")


def test_a_stopped_run_goes_on(
    command: Callable,
    config: Callable,
    tmp_path: Path,
    signal_after_step: Callable,
    ending: Callable,
) -> None:
    path = config(DOCUMENTS, epoch_steps=3)
    assert command("train", path, "--output-dir", tmp_path / "whole").code == 0
    with signal_after_step(4, signal.SIGTERM):
        assert command("train", path, "--output-dir", tmp_path / "run").code == 143
    assert command("train", "--resume", tmp_path / "run").code == 0
    assert ending(tmp_path / "run") == ending(tmp_path / "whole")


def test_files_without_marks_are_told_of_and_what_cannot_be_is_refused(
    command: Callable, config: Callable, tmp_path: Path
) -> None:
    path = config(DOCUMENTS, marks=False, epochs=1)
    done = command("train", path, "--output-dir", tmp_path / "run")
    assert done.code == 0
    assert done.err.count("train: no marks of documents (-DOCSTART-, # newdoc);") == 1
    model, test = tmp_path / "run" / "model.pt", tmp_path / "test.conll"
    refused = command("predict", model, test, "--set", "data.context=sentence")
    assert refused.code == 1
    assert "--set data.context=sentence: is chosen for training" in refused.err
    exported = command("export", model, tmp_path / "exported")
    assert exported.code == 1
    assert "reads documents (data.context: document)" in exported.err
