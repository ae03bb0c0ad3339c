"""``bilstm-crf report``: one HTML file about a run folder, or about several side by side."""

import json
import logging
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bilstm_crf.commands.run_folder import RUNS, newest_run
from bilstm_crf.console import say
from bilstm_crf.errors import RunError
from bilstm_crf.evaluation.evaluation import evaluate_analysis
from bilstm_crf.evaluation.records import read_analysis
from bilstm_crf.evaluation.report import ReportedRun, render_report

logger = logging.getLogger(__name__)

ANALYSIS_FILE = "analysis.json"
REPORT_FILE = "report.html"


def report_command(runs: Sequence[Path], output: Path | None, *, open_in_browser: bool) -> None:
    """Do what ``bilstm-crf report`` was asked for; see its help."""
    runs = runs or [newest_run(RUNS)]
    say(f"report: {write_report(runs, output, open_in_browser=open_in_browser)}")


def write_report(
    runs: Sequence[Path], output: Path | None = None, *, open_in_browser: bool = False
) -> Path:
    """Write the report of one run or several.

    Args:
        runs: run folders.
        output: the file to write; default ``report.html`` in the first run folder.
        open_in_browser: show it.

    Returns:
        The file.

    Raises:
        RunError: a folder holds no run, or the file cannot be written.
        DataError: an analysis in a folder cannot be read.
    """
    names = _names(runs)
    found = [_read_run(path, name) for path, name in zip(runs, names, strict=True)]
    output = output or runs[0] / REPORT_FILE
    page = render_report(found, title=" and ".join(names) if len(names) < 4 else "runs")
    try:
        output.write_text(page, encoding="utf-8", newline="\n")
    except OSError as error:
        raise RunError(f"{output}: cannot be written: {error.strerror}") from None
    if open_in_browser:
        webbrowser.open(output.resolve().as_uri())
    return output


def _names(runs: Sequence[Path]) -> list[str]:
    """Name runs by their folders, and by the folders above where these are the same."""
    paths = [path.resolve() for path in runs]
    names = [path.name for path in paths]
    if len(set(names)) < len(names):
        names = [f"{path.parent.name}/{path.name}" for path in paths]
    return names


def _read_run(path: Path, name: str) -> ReportedRun:
    if not path.is_dir():
        raise RunError(f"{path}: no such run folder; give the folder that train has written")
    summary = _read_json(path / "report.json")
    epochs = [json.loads(line) for line in _read(path / "metrics.jsonl").splitlines() if line]
    if not summary and not epochs:
        raise RunError(
            f"{path}: no run in it (neither report.json nor metrics.jsonl); "
            "give the folder that train has written"
        )
    analysis = path / ANALYSIS_FILE
    if not analysis.exists():
        logger.warning("%s: no %s in it: the report shows no scores", path, ANALYSIS_FILE)
    return ReportedRun(
        name=name,
        epochs=epochs,
        summary=summary,
        config=_read(path / "config.yaml"),
        evaluation=evaluate_analysis(read_analysis(analysis)) if analysis.exists() else None,
    )


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _read_json(path: Path) -> dict[str, Any]:
    return dict(json.loads(_read(path) or "{}"))
