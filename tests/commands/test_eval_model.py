"""A model scored on files; its weights are random, so scores are low but must all agree."""

import json
import logging
from pathlib import Path

import pytest
import torch

from bilstm_crf.commands.eval import eval_predictions
from bilstm_crf.commands.eval_model import eval_model, evaluate
from bilstm_crf.commands.run_report import write_run_report
from bilstm_crf.corpus.labels import model_labels
from bilstm_crf.corpus.vocabulary import Vocabularies, Vocabulary, WordVocabulary
from bilstm_crf.errors import ConfigError, DataError, RunError
from bilstm_crf.evaluation.records import read_analysis
from bilstm_crf.model.tagger import ModelSection
from bilstm_crf.prediction.model_file import TrainedModel, save_model
from bilstm_crf.prediction.predictor import Tagger
from bilstm_crf.training.preparation import build_network

TRAIN = "Ann\tB-PER\nLee\tI-PER\nmet\tO\n\nRome\tB-LOC\n"
TEST = "Bo\tB-PER\nLee\tI-PER\nmet\tO\n\nin\tO\nRome\tB-LOC\n\nAcme\tB-ORG\nInc\tI-ORG\n" * 5
ALL_OUTSIDE = "a\tO\nb\tO\n"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run folder as a training leaves it, before its report."""
    folder = tmp_path / "runs" / "mine"
    folder.mkdir(parents=True)
    for name, text in (("train", TRAIN), ("test", TEST)):
        (tmp_path / f"{name}.conll").write_text(text, encoding="utf-8")
    data = {name: str(tmp_path / f"{name}.conll") for name in ("train", "test")}
    write_model(folder / "model.pt", {"config": {"data": data}})
    epoch = {"epoch": 1, "train_loss": 3.5, "dev": None, "learning_rate": 0.1}
    (folder / "metrics.jsonl").write_text(json.dumps(epoch) + "\n", encoding="utf-8")
    return folder


def write_model(path: Path, record: dict) -> None:
    torch.manual_seed(3)
    section = ModelSection.model_validate(
        {"word_embeddings": {"size": 8}, "lstm": {"hidden_size": 6}}
    )
    words = WordVocabulary(("ann", "lee", "met", "rome"))
    labels = tuple(model_labels(("PER", "LOC"), "BIOES"))
    vocabularies = Vocabularies(words, Vocabulary("abcdefg"), labels, {})
    weights = dict(build_network(section, vocabularies, "BIOES").state_dict())
    save_model(TrainedModel(section, vocabularies, "BIOES", "BIO", weights, record), path)


def test_scores_agree_wherever_they_are_made(run: Path, tmp_path: Path):
    report = write_run_report(run, Tagger.load(run / "model.pt"))
    assert report == run / "report.html"
    found = eval_model(run)
    headline = found.readings.headline
    assert headline.predicted > 0
    assert evaluate(run / "model.pt", tmp_path / "test.conll") == headline
    assert evaluate(Tagger.load(run / "model.pt"), tmp_path / "test.conll") == headline
    assert eval_model(run / "model.pt", [str(tmp_path / "test.conll")]).readings == found.readings
    assert eval_predictions(run / "predictions.conll").readings.headline == headline
    assert f"{100 * headline.f1:.2f}" in report.read_text(encoding="utf-8")


def test_a_type_only_the_test_data_has_is_missed(run: Path, caplog: pytest.LogCaptureFixture):
    """Named in a warning, counted and never found."""
    with caplog.at_level(logging.WARNING, "bilstm_crf"):
        scores = eval_model(run).readings.headline
    assert "entity types that the model does not know, scored as missed: ORG (5)" in caplog.text
    assert scores.support == 15
    assert scores.types["ORG"].support == 5
    assert scores.types["ORG"].recall == 0.0


def test_everything_found_is_plain_json(run: Path, tmp_path: Path):
    found = eval_model(run).as_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == json.loads(json.dumps(found))
    assert found["sure_and_wrong"][0]["where"].startswith(str(tmp_path / "test.conll:"))
    assert {"gold", "predicted", "doubt", "text"} <= set(found["suspects"][0])
    assert found["calibration"]["count"] == found["readings"]["seqeval_default"]["predicted"]
    assert found["thresholds"][0]["kept"] == found["calibration"]["count"]


def test_dev_data_stands_in_for_missing_test_data(run: Path, tmp_path: Path):
    write_model(run / "model.pt", {"config": {"data": {"dev": str(tmp_path / "train.conll")}}})
    assert eval_model(run).analysis.split == "dev"


def test_the_newest_run_is_scored_when_none_is_named(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    assert eval_model().analysis.split == "test"
    assert eval_model().readings.headline.support == 15


def test_what_training_knew_comes_from_the_run(run: Path):
    assert eval_model(run).errors.by_novelty == {}
    write_run_report(run, Tagger.load(run / "model.pt"))
    stored = read_analysis(run / "analysis.json")
    assert stored.training_entities == {"Ann Lee": ("PER",), "Rome": ("LOC",)}
    novelty = eval_model(run).errors.by_novelty
    assert novelty["seen"].support == 5
    assert novelty["unseen"].support == 10


def test_a_file_without_entities_scores_zero(run: Path, tmp_path: Path):
    path = tmp_path / "outside.conll"
    path.write_text(ALL_OUTSIDE, encoding="utf-8")
    scores = eval_model(run, [str(path)]).readings.headline
    assert (scores.f1, scores.support) == (0.0, 0)
    assert scores.notes


def test_what_cannot_be_scored_is_said(run: Path, tmp_path: Path):
    with pytest.raises(DataError, match="no such file"):
        eval_model(run, [str(tmp_path / "nothing.conll")])
    empty = tmp_path / "empty.conll"
    empty.write_text("\n", encoding="utf-8")
    with pytest.raises(DataError, match="no sentences in it"):
        eval_model(run, [str(empty)])
    write_model(run / "model.pt", {})
    with pytest.raises(RunError, match="name a file to score on"):
        eval_model(run)


def test_a_run_without_test_and_dev_has_a_report_without_scores(run: Path):
    write_model(run / "model.pt", {})
    text = write_run_report(run, Tagger.load(run / "model.pt")).read_text(encoding="utf-8")
    assert "there are no scores" in text
    assert not (run / "analysis.json").exists()


def test_a_file_of_another_layout_is_read_as_told(run: Path, tmp_path: Path):
    rows = [line.split("\t") for line in TEST.splitlines()]
    swapped = "\n".join("x\t" + "\t".join(row[::-1]) if row[0] else "" for row in rows) + "\n"
    (tmp_path / "swapped.tsv").write_text(swapped, encoding="utf-8")
    told = ["data.token_column=2", "data.label_column=1"]
    found = eval_model(run, [str(tmp_path / "swapped.tsv")], overrides=told)
    assert found.readings.headline == eval_model(run).readings.headline
    with pytest.raises(ConfigError, match=r"data\.tokencolumn: unknown key"):
        eval_model(run, overrides=["data.tokencolumn=2"])
