"""``export --verify`` reads its file as the model's own files were read."""

from pathlib import Path

import pytest
import torch

from bilstm_crf.commands import export
from bilstm_crf.corpus.labels import model_labels
from bilstm_crf.corpus.vocabulary import Vocabularies, Vocabulary, WordVocabulary
from bilstm_crf.errors import DataError
from bilstm_crf.model.tagger import ModelSection
from bilstm_crf.prediction.export import load_predictor, write_tables
from bilstm_crf.prediction.model_file import TrainedModel, save_model
from bilstm_crf.training.preparation import build_network

READ_AS = {"features": {"pos": 1}, "token_column": 2, "label_column": 0}


def tables_only(model: TrainedModel, folder: Path, *, int8: bool) -> list[Path]:
    write_tables(model, folder)
    return sorted(folder.iterdir())


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A model with an extra column, of files whose columns nobody would guess."""
    torch.manual_seed(1)
    section = ModelSection.model_validate({"word_embeddings": {"size": 4}, "char_encoder": "none"})
    vocabularies = Vocabularies(
        words=WordVocabulary(["ann", "met"], []),
        chars=Vocabulary("anmet"),
        labels=tuple(model_labels(["PER"], "BIOES")),
        columns={"pos": Vocabulary(["NN", "VB"])},
    )
    network = build_network(section, vocabularies, "BIOES")
    record = {"config": {"data": READ_AS}}
    trained = TrainedModel(section, vocabularies, "BIOES", "BIO", network.state_dict(), record)
    save_model(trained, tmp_path / "model.pt")
    # The graph takes seconds to make and optional packages; how data is read needs neither.
    monkeypatch.setattr(export, "export_model", tables_only)
    monkeypatch.setattr(export, "load_predictor", lambda out, *_: load_predictor(out, "numpy"))
    return tmp_path / "model.pt"


def test_columns_are_those_of_training(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "more.conll"
    data.write_text("B-PER\tNN\tAnn\nO\tVB\tmet\n\nO\tNN\tBo\n", encoding="utf-8")
    export.export_command(model, tmp_path / "out", int8=False, verify=data)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [row[1] for row in rows if row[:1] in (["onnxruntime"], ["numpy"])] == ["100.000"] * 2


@pytest.mark.parametrize(
    ("text", "said"), [("", r"data\.conll: no sentences"), (None, "no such file")]
)
def test_a_file_with_nothing_in_it_is_refused(
    model: Path, tmp_path: Path, text: str | None, said: str
) -> None:
    data = tmp_path / "data.conll"
    if text is not None:
        data.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=said):
        export.export_command(model, tmp_path / "out", int8=False, verify=data)
