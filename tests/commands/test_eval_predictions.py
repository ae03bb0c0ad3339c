import json
import logging
from pathlib import Path

import pytest

from bilstm_crf.commands.eval import eval_predictions
from bilstm_crf.commands.json_output import write_json
from bilstm_crf.commands.score_tables import show_evaluation
from bilstm_crf.errors import DataError, RunError
from bilstm_crf.evaluation.readings import READINGS

TWO_SENTENCES = """\
Ann\tB-PER\tI-PER
Lee\tI-PER\tI-PER
met\tO\tO

Rome\tB-LOC\tB-LOC
"""


@pytest.fixture
def predictions(tmp_path: Path) -> Path:
    path = tmp_path / "predictions.tsv"
    path.write_text(TWO_SENTENCES, encoding="utf-8")
    return path


def test_label_columns_of_any_tool_are_scored(predictions: Path):
    found = eval_predictions(predictions)
    assert found.readings.scheme == "BIO"
    assert found.readings.headline.f1 == 1.0
    assert found.readings.by_name["seqeval_strict"].recall == 0.5
    assert found.readings.predicted_illegal.labels == 1
    assert found.analysis.sentences[1].where == f"{predictions}:5"


def test_columns_are_chosen_by_number_or_name(tmp_path: Path):
    path = tmp_path / "p.csv"
    path.write_text("guess,truth,token\nB-A,B-A,x\nO,B-A,y\n", encoding="utf-8")
    by_name = eval_predictions(
        path,
        gold_column="truth",
        predicted_column="guess",
        token_column="token",
        delimiter=",",
    )
    assert (by_name.readings.headline.recall, by_name.readings.headline.precision) == (0.5, 1.0)
    spaced = tmp_path / "p.txt"
    spaced.write_text("B-A O x\nO B-A y\n", encoding="utf-8")
    by_number = eval_predictions(spaced, gold_column=0, predicted_column=1, token_column=2)
    assert by_number.readings.headline.correct == 0


def test_the_scheme_comes_from_gold_or_from_the_caller(tmp_path: Path, caplog):
    path = tmp_path / "p.tsv"
    path.write_text("a\tS-M\tB-M\nb\tS-M\tE-M\n", encoding="utf-8")
    with caplog.at_level(logging.INFO, "bilstm_crf"):
        assert eval_predictions(path).readings.scheme == "BIOES"
    assert "label scheme BIOES" in caplog.text
    path.write_text("a\tO\tU-M\n", encoding="utf-8")
    assert eval_predictions(path).readings.scheme == "BILOU"
    assert eval_predictions(path, scheme="BIO").readings.scheme == "BIO"


def test_a_missing_column_is_named(predictions: Path):
    with pytest.raises(DataError, match="3 columns, so there is no column 7"):
        eval_predictions(predictions, predicted_column=7)


def test_nothing_to_score_is_no_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "p.tsv"
    path.write_text("a\tO\tO\nb\tO\tO\n", encoding="utf-8")
    show_evaluation(eval_predictions(path))
    shown = capsys.readouterr()
    assert "nothing to score" in shown.err
    assert "nan" not in shown.out.lower()
    assert "micro avg" in shown.out


def test_json_holds_every_reading(predictions: Path, capsys: pytest.CaptureFixture[str]):
    write_json(eval_predictions(predictions).as_dict(), "-")
    shown = json.loads(capsys.readouterr().out)
    assert (
        set(shown["readings"])
        == set(READINGS)
        == {
            "seqeval_strict",
            "seqeval_default",
            "conlleval",
        }
    )
    for scores in shown["readings"].values():
        assert {"precision", "recall", "f1", "support", "types"} <= set(scores)
    assert shown["headline"] == "seqeval_default"
    assert shown["f1"] == shown["readings"]["seqeval_default"]["f1"]
    assert shown["illegal"]["predicted"]["entities"] == {
        "seqeval_strict": 0,
        "seqeval_default": 1,
        "conlleval": 1,
    }
    assert shown["intervals"]["micro"]["f1"]["high"] == 1.0
    assert shown["errors"]["classes"]["correct"] == 2


def test_json_goes_to_a_file_or_says_why_not(predictions: Path, tmp_path: Path):
    target = tmp_path / "scores.json"
    write_json({"städte": 1}, str(target))
    assert json.loads(target.read_text(encoding="utf-8")) == {"städte": 1}
    with pytest.raises(RunError, match="cannot be written"):
        write_json({}, str(tmp_path / "no" / "such" / "folder.json"))


def test_tables_name_headline_and_illegal_labels(
    predictions: Path, capsys: pytest.CaptureFixture[str]
):
    show_evaluation(eval_predictions(predictions))
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    readings = [line.split()[0] for line in lines if line.startswith(("seqeval", "conll"))]
    assert readings == ["seqeval_default", "seqeval_strict", "conlleval"]
    assert "wrong boundary" in shown.out
    assert "1 predicted labels in 1 sentences are not well formed in BIO" in shown.err
    assert "\x1b" not in shown.out
