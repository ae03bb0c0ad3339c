import json
import logging
from pathlib import Path

import pytest

from bilstm_crf.commands.report import write_report
from bilstm_crf.errors import DataError, RunError
from bilstm_crf.evaluation.records import RunAnalysis, SentenceRecord, write_analysis


def make_run(folder: Path, predicted: str = "B-PER", analysis: bool = True) -> Path:
    folder.mkdir(parents=True)
    epoch = {"epoch": 1, "train_loss": 3.5, "dev": {"f1": 0.5}, "learning_rate": 0.1}
    (folder / "metrics.jsonl").write_text(json.dumps(epoch) + "\n", encoding="utf-8")
    summary = {"dev": {"f1": 0.5}, "best_epoch": 1, "seconds": 60}
    (folder / "report.json").write_text(json.dumps(summary), encoding="utf-8")
    (folder / "config.yaml").write_text("seed: 42\n", encoding="utf-8")
    if analysis:
        record = SentenceRecord(("Ann",), ("B-PER",), (predicted,))
        write_analysis(RunAnalysis("BIO", "test", (record,)), folder / "analysis.json")
    return folder


def test_a_run_folder_becomes_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    run = make_run(tmp_path / "run")
    page = write_report([run])
    assert page == run / "report.html"
    text = page.read_text(encoding="utf-8")
    assert "seed: 42" in text
    assert "<title>run</title>" in text
    assert not opened
    write_report([run], tmp_path / "other.html", open_in_browser=True)
    assert opened == [(tmp_path / "other.html").as_uri()]


def test_runs_of_one_name_are_told_apart(tmp_path: Path):
    runs = [make_run(tmp_path / "a" / "seed-1"), make_run(tmp_path / "b" / "seed-1", "O")]
    text = write_report(runs).read_text(encoding="utf-8")
    assert "a/seed-1" in text
    assert "b/seed-1" in text
    assert "Side by side" in text


def test_a_run_without_analysis_has_a_report_and_a_warning(tmp_path: Path, caplog):
    run = make_run(tmp_path / "run", analysis=False)
    with caplog.at_level(logging.WARNING, "bilstm_crf"):
        text = write_report([run]).read_text(encoding="utf-8")
    assert "no analysis.json" in caplog.text
    assert "training loss" in text


def test_what_is_no_run_is_refused(tmp_path: Path):
    with pytest.raises(RunError, match="no such run folder"):
        write_report([tmp_path / "nothing"])
    with pytest.raises(RunError, match="no run in it"):
        write_report([tmp_path])
    run = make_run(tmp_path / "run")
    (run / "analysis.json").write_text("{}", encoding="utf-8")
    with pytest.raises(DataError, match="not an analysis file"):
        write_report([run])
    run = make_run(tmp_path / "other")
    with pytest.raises(RunError, match="cannot be written"):
        write_report([run], tmp_path / "no" / "such.html")
