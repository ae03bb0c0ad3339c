"""Exported models give the labels of the model they come from, with and without onnxruntime."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from bilstm_crf.corpus.labels import convert_labels, model_labels
from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.corpus.vocabulary import Vocabularies, Vocabulary, WordVocabulary
from bilstm_crf.errors import RunError
from bilstm_crf.model.tagger import ModelSection
from bilstm_crf.prediction import export
from bilstm_crf.prediction.model_file import TrainedModel
from bilstm_crf.prediction.predictor import Tagger
from bilstm_crf.prediction.standalone_predictor import Predictor, in_file_scheme
from bilstm_crf.training.preparation import build_network

TOKENS = ["Ada", "ada", "1987", "in", "Oslo", "naïve", "東京", "x" * 70, "B-52", " ", "UNSEEN", ""]


def make_model(file_scheme: str = "BIO", **changes: object) -> TrainedModel:
    """Return a model with random weights, large enough that its labels vary."""
    torch.manual_seed(1)
    section = ModelSection.model_validate(
        {
            "word_embeddings": {"size": 8},
            "char_encoder": {"type": "cnn", "size": 5, "filters": 6, "longest": 20},
            "form_embeddings": {"size": 2},
            "lstm": {"hidden_size": 7, "layers": 1},
            **changes,
        }
    )
    columns = {"pos.tag": Vocabulary(["NN", "VB"])} if "column_size" in changes else {}
    vocabularies = Vocabularies(
        words=WordVocabulary(["ada", "in", "0000", "oslo"], ["x", "naïve", "東京"]),
        chars=Vocabulary("adinoslx0123ï東B-"),
        labels=tuple(model_labels(["LOC", "PER"], "BIOES")),
        columns=columns,
    )
    network = build_network(section, vocabularies, "BIOES")
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.normal_(0, 0.7)
        network.word_embeddings.stored.normal_(0, 1)
        for member in network.members:
            if hasattr(member.char_encoder, "embedding"):
                member.char_encoder.embedding.weight[0] = 0  # the padding, in every trained model
    return TrainedModel(section, vocabularies, "BIOES", file_scheme, network.state_dict())


def ragged_sentences(count: int = 60) -> list[list[str]]:
    rng = np.random.default_rng(5)
    return [
        [TOKENS[i] for i in rng.integers(0, len(TOKENS) - 1, rng.integers(0, 12))]
        for _ in range(count)
    ]


VARIANTS = {
    "default": {},
    "char LSTM": {"char_encoder": {"type": "lstm", "size": 5, "hidden_size": 4}},
    "no characters": {
        "char_encoder": "none",
        "form_embeddings": {"size": 0},
        "lstm": {"hidden_size": 30},
    },
    "two layers": {"lstm": {"hidden_size": 5, "layers": 2}},
    "even filters": {"char_encoder": {"type": "cnn", "width": 4}},
    "softmax": {"head": "softmax"},
    "biased": {"crf": {"constraints": "none", "outside_bias": 0.7}},
    "columns": {"column_size": 3},
    "members": {"members": 3},
    "probable entities": {"crf": {"decoding": "expected_f1", "entity_threshold": 0.07}},
}


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_numpy_predictor_equals_the_model(changes: dict[str, object], tmp_path: Path) -> None:
    model = make_model(**changes)
    sentences = ragged_sentences()
    names = list(model.vocabularies.columns)
    tags = [[("VB", "XX", "NN")[len(token) % 3] for token in s] for s in sentences]
    columns = dict.fromkeys(names, tags)
    given = [
        Sentence(tuple(s), features={name: tuple(columns[name][i]) for name in names})
        for i, s in enumerate(sentences)
    ]
    expected = [p.labels for p in Tagger(model).predict_sentences(given)]
    export.write_tables(model, tmp_path)
    predicted = Predictor(tmp_path, "numpy").predict(sentences, columns)
    assert predicted == expected
    assert len({label for labels in expected for label in labels}) > 1


def test_extra_columns_are_asked_for(tmp_path: Path) -> None:
    export.write_tables(make_model(column_size=3), tmp_path)
    with pytest.raises(ValueError, match=r"'pos\.tag'"):
        Predictor(tmp_path, "numpy").predict([["Ada"]])


@pytest.mark.parametrize("scheme", ["IO", "IOB1", "BIO", "BIOES", "BMES", "BILOU"])
def test_labels_come_in_the_scheme_of_the_files(scheme: str, tmp_path: Path) -> None:
    model = make_model(scheme)
    export.write_tables(model, tmp_path)
    sentences = ragged_sentences()
    expected = Tagger(model).predict_tokens(sentences)
    assert Predictor(tmp_path, "numpy").predict(sentences) == expected
    prefixes = json.loads((tmp_path / "settings.json").read_text(encoding="utf-8"))["prefixes"]
    labels = ["S-PER", "S-PER", "B-PER", "E-PER", "O", "B-LOC", "I-LOC", "E-LOC", "S-PER"]
    assert in_file_scheme(labels, prefixes) == convert_labels(labels, "BIOES", scheme)


def test_exported_file_runs_alone(tmp_path: Path) -> None:
    model = make_model()
    export.write_tables(model, tmp_path)
    (tmp_path / "in.txt").write_bytes(b"Ada\tNN\r\nin\r\n\r\n\r\nOslo\r\n")
    command = [sys.executable, "-I", str(tmp_path / "predictor.py"), str(tmp_path / "in.txt")]
    done = subprocess.run(command, capture_output=True, check=True)
    (ada, in_), (oslo,) = Tagger(model).predict_tokens([["Ada", "in"], ["Oslo"]])
    lines = [f"Ada\t{ada}", f"in\t{in_}", "", "", f"Oslo\t{oslo}", ""]
    assert done.stdout.decode("utf-8") == "\n".join(lines)


def test_exported_file_tells_mistakes_in_one_line(tmp_path: Path) -> None:
    export.write_tables(make_model(), tmp_path)
    (tmp_path / "latin.txt").write_bytes(b"Zo\xeb\n")
    for argument, message in (
        ("missing.txt", "error: missing.txt: No such file or directory\n"),
        ("latin.txt", "error: latin.txt: byte 0xeb at offset 2 is not UTF-8\n"),
        (".", "error: .: Is a directory\n"),
    ):
        command = [sys.executable, "-I", "predictor.py", argument]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, text=True)
        assert (done.returncode, done.stdout, done.stderr) == (1, "", message)
    command = [sys.executable, "-I", "predictor.py", "--help"]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, text=True)
    assert shown.stdout.startswith("usage: predictor.py")


def test_unwritable_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(RunError, match="cannot be written"):
        export.write_tables(make_model(), tmp_path / "file" / "out")


@pytest.mark.slow
@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
def test_onnx_graph_equals_the_model(changes: dict[str, object], tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    pytest.importorskip("onnxruntime")
    model = make_model(**changes)
    sentences = ragged_sentences()
    names = list(model.vocabularies.columns)
    columns = {name: [["VB"] * len(s) for s in sentences] for name in names}
    export.export_model(model, tmp_path, int8=True)
    exact = Predictor(tmp_path, "onnxruntime").predict(sentences, columns)
    assert exact == Predictor(tmp_path, "numpy").predict(sentences, columns)
    small = Predictor(tmp_path, "onnxruntime", export.GRAPH_INT8).predict(sentences, columns)
    assert [len(labels) for labels in small] == [len(s) for s in sentences]
