"""The reader without torch sees what torch sees, and leaves everything odd to it."""

import io
import pickle
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from random_models import random_model

from bilstm_crf.prediction.light_model import UnusualModelError, read_light_model
from bilstm_crf.prediction.light_tagger import LightTagger
from bilstm_crf.prediction.model_file import load_model, save_model
from bilstm_crf.prediction.predictor import Tagger
from bilstm_crf.prediction.questions import Questions, Thresholds

SENTENCES = [["Mira", "Holt", "sang", "in", "Norvale", "."], [], ["日本"], ["x"] * 30]


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    save_model(random_model(columns={"pos": ("N", "V")}), tmp_path / "model.pt")
    return tmp_path / "model.pt"


def test_reads_what_torch_reads(model_file: Path):
    light, full = read_light_model(model_file), load_model(model_file)
    assert light.vocabularies.words.trained == full.vocabularies.words.trained
    assert light.vocabularies.words.stored == full.vocabularies.words.stored
    assert light.vocabularies.chars.strings == full.vocabularies.chars.strings
    assert light.vocabularies.labels == full.vocabularies.labels
    assert light.vocabularies.columns["pos"].strings == ("N", "V")
    assert (light.scheme, light.file_scheme) == (full.scheme, full.file_scheme)
    assert light.record == full.record
    assert light.settings == full.section.model_dump(mode="json")
    assert light.weights.keys() == full.weights.keys()
    for name, weight in full.weights.items():
        np.testing.assert_array_equal(light.weights[name], weight.numpy())


@pytest.mark.parametrize("half", [False, True])
def test_labels_like_the_full_tagger(tmp_path: Path, half: bool):
    model = random_model()
    save_model(model.in_half() if half else model, tmp_path / "model.pt")
    light, full = LightTagger(tmp_path / "model.pt"), Tagger.load(tmp_path / "model.pt")
    wanted = full.predict_tokens(SENTENCES)
    assert light.predict_tokens(SENTENCES) == wanted
    assert any(label != "O" for labels in wanted for label in labels)


QUESTIONS = {
    "probabilities": Questions(probabilities=True),
    "thresholds": Questions(thresholds=Thresholds(0.2, {"PER": 0.4})),
    "every probability": Questions(token_probabilities=True, marginals=True),
}
MODELS: dict[str, dict[str, Any]] = {
    "default": {},
    "IOB1": {"scheme": "IOB1"},
    "tempered": {"temperature": 2.5, "crf": {"outside_bias": 0.4}},
    "softmax": {"head": "softmax", "temperature": 0.7},
    "members": {"members": 3},
    "probable entities": {"crf": {"decoding": "expected_f1", "entity_threshold": 0.15}},
    "windows": {"config": {"data": {"context": "document", "context_tokens": 9}}},
}


@pytest.mark.parametrize("questions", QUESTIONS.values(), ids=QUESTIONS)
@pytest.mark.parametrize("settings", MODELS.values(), ids=MODELS)
def test_answers_like_the_full_tagger(
    tmp_path: Path, settings: dict[str, Any], questions: Questions
):
    save_model(random_model(**settings), tmp_path / "model.pt")
    full = Tagger.load(tmp_path / "model.pt")
    sentences = [*SENTENCES, ["Holt"], ["Mira", "."] * 4]
    tokens = [token for sentence in sentences for token in sentence]
    starts = np.cumsum([0, *map(len, sentences)])
    wanted = full.predict_flat(tokens, starts, {}, questions)
    assert wanted.entities
    for threads in (1, 2):
        light = LightTagger(tmp_path / "model.pt", batch_sentences=2, threads=threads)
        found = light.predict_flat(tokens, starts, {}, questions)
        assert found.label_ids.tolist() == wanted.label_ids.tolist()
        assert [replace(span, probability=None) for span in found.entities or []] == [
            replace(span, probability=None) for span in wanted.entities
        ]
        assert [span.probability for span in found.entities or []] == pytest.approx(
            [span.probability for span in wanted.entities], abs=1e-5
        )
        for name in ("marginals", "token_probabilities"):
            one, other = getattr(found, name), getattr(wanted, name)
            assert (one is None) == (other is None)
            if other is not None:
                np.testing.assert_allclose(one, other, atol=1e-5)


class Harmful:
    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("ran",)


def changed(path: Path, content: object) -> None:
    """Replace the pickle of an archive."""
    buffer = io.BytesIO(path.read_bytes())
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(path, "w") as new:
        for entry in old.infolist():
            is_pickle = entry.filename.endswith("data.pkl")
            new.writestr(entry, pickle.dumps(content) if is_pickle else old.read(entry))


@pytest.mark.parametrize(
    "content", [Harmful(), {"format": Harmful()}, [], {"format": "other", "version": 1}, {}, 3]
)
def test_runs_nothing_and_leaves_odd_files_to_torch(
    model_file: Path, content: object, capsys: pytest.CaptureFixture[str]
):
    changed(model_file, content)
    with pytest.raises(UnusualModelError):
        read_light_model(model_file)
    assert capsys.readouterr().out == ""


def test_leaves_what_is_no_archive_or_damaged_to_torch(tmp_path: Path, model_file: Path):
    data = model_file.read_bytes()
    at = data.index(b"Mira".lower())
    samples = [b"", b"PK\x03\x04", data[: len(data) // 2], data[:at] + b"X" + data[at + 1 :]]
    for sample in samples:
        (tmp_path / "odd.pt").write_bytes(sample)
        with pytest.raises(UnusualModelError):
            read_light_model(tmp_path / "odd.pt")
    with pytest.raises(UnusualModelError):
        read_light_model(tmp_path / "missing.pt")


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["weights"].pop("projection.weight"),
        lambda content: content["weights"].update({"projection.bias": torch.zeros(2)}),
        lambda content: content["weights"].update({"word_embeddings.weight": torch.zeros(2, 8)}),
        lambda content: content["weights"].update(
            {"lstm.forward_layers.0.weight_hh_l0": torch.zeros(24, 7)}
        ),
        lambda content: content["model"].update({"head": "crf", "lstm": {"layers": 3}}),
        lambda content: content["trained_words"]["lengths"].fill_(1),
        lambda content: content.update(version=2),
    ],
)
def test_a_model_whose_parts_do_not_fit_is_left_to_torch(model_file: Path, change: Any):
    content = torch.load(model_file, weights_only=True)
    change(content)
    torch.save(content, model_file)
    with pytest.raises(UnusualModelError):
        LightTagger(model_file)


def test_labels_and_probabilities_import_no_torch(model_file: Path):
    save_model(random_model(), model_file)
    program = (
        "import sys; from pathlib import Path\n"
        "from bilstm_crf.prediction.light_tagger import LightTagger\n"
        f"tagger = LightTagger(Path({str(model_file)!r}))\n"
        "tagger.predict(['Mira sang in Norvale.'], probabilities=True)\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
