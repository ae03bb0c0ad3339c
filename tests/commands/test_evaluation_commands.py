"""The commands eval, compare and report as they are typed."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bilstm_crf.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Run the command line in this process; return exit code, stdout and stderr."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["bilstm-crf", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        shown = capfdbinary.readouterr()
        return code, shown.out.decode("utf-8"), shown.err.decode("utf-8")

    return run


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    path = tmp_path / "predictions.tsv"
    path.write_text("Åse\tB-PER\tB-PER\nLee\tI-PER\tO\n\nRome\tB-LOC\tB-LOC\n", encoding="utf-8")
    return path


def test_predictions_are_scored_into_a_pipe(run: Run, predictions: Path):
    code, out, err = run("eval", "--predictions", predictions)
    assert code == 0
    micro = next(line for line in out.splitlines() if line.startswith("micro avg"))
    assert micro.split()[2:5] == ["50.00", "50.00", "50.00"]
    assert "\x1b" not in out + err
    assert "\r" not in out + err


def test_json_on_stdout_stands_alone(run: Run, predictions: Path):
    code, out, _ = run("eval", "--predictions", predictions, "--json", "-")
    assert code == 0
    found = json.loads(out)
    assert found["readings"]["conlleval"]["f1"] == 0.5
    assert found["split"] == "predictions.tsv"


def test_json_goes_beside_the_table(run: Run, predictions: Path, tmp_path: Path):
    target = tmp_path / "scores.json"
    code, out, _ = run("eval", "--predictions", predictions, "--json", target)
    assert code == 0
    assert "micro avg" in out
    assert json.loads(target.read_text(encoding="utf-8"))["support"] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--gold-column", "9"], "there is no column 9"),
        (["--gold-column", "truth"], "no column is named 'truth'"),
        (["--scheme", "BOO"], "--scheme: unknown label scheme 'BOO'"),
        (["some.pt"], "--predictions needs no model"),
    ],
)
def test_mistakes_are_one_line(run: Run, predictions: Path, arguments: list[str], message: str):
    code, out, err = run("eval", "--predictions", predictions, *arguments)
    assert code == 1
    assert not out
    assert message in err.splitlines()[-1]


def test_predictions_cannot_come_through_a_pipe(run: Run):
    code, _, err = run("eval", "--predictions", "-")
    assert code == 1
    assert "give a file" in err


def test_a_file_of_two_columns_needs_no_tokens(run: Run, tmp_path: Path):
    path = tmp_path / "labels.txt"
    path.write_text("B-A B-A\nI-A O\n\nB-A B-A\n", encoding="utf-8")
    code, out, _ = run("eval", "--predictions", path, "--json", "-")
    assert code == 0
    assert json.loads(out)["f1"] == 0.5


def test_eval_without_any_run_says_so(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = run("eval")
    assert code == 1
    assert "no finished run in it" in err
    code, _, err = run("report")
    assert code == 1
    assert "no finished run in it" in err


def test_compare_prints_and_writes(run: Run, predictions: Path, tmp_path: Path):
    gold = tmp_path / "gold.tsv"
    gold.write_text("Åse\tB-PER\nLee\tI-PER\n\nRome\tB-LOC\n", encoding="utf-8")
    code, out, err = run("compare", predictions, gold, "--gold", gold)
    assert code == 0
    assert "+50.00" in out
    assert "10000 resamples" in err
    code, out, _ = run("compare", predictions, gold, "--gold", gold, "--json", "-")
    assert json.loads(out)["types"]["PER"]["difference"] == 1.0
    gold.write_text("Åse\tB-PER\nLea\tI-PER\n\nRome\tB-LOC\n", encoding="utf-8")
    code, _, err = run("compare", predictions, predictions, "--gold", gold)
    assert code == 1
    assert f"{predictions}:2: token 'Lee', but 'Lea' at {gold}:2" in err


def test_report_is_written_beside_the_run(run: Run, tmp_path: Path):
    (tmp_path / "metrics.jsonl").write_text(
        '{"epoch": 1, "train_loss": 2, "dev": null, "learning_rate": 0.1}\n', encoding="utf-8"
    )
    code, out, err = run("report", tmp_path)
    assert code == 0
    assert not out
    assert f"report: {tmp_path / 'report.html'}" in err
    assert (tmp_path / "report.html").exists()


def test_scoring_predictions_loads_no_torch(predictions: Path):
    code = (
        "import sys; from bilstm_crf.cli import app;"
        f"app(['eval', '--predictions', {str(predictions)!r}], standalone_mode=False);"
        "sys.exit('torch loaded' if 'torch' in sys.modules else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "micro avg" in done.stdout
    assert done.returncode == 0, done.stderr
