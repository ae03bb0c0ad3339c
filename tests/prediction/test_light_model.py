"""The reader without torch sees what torch sees, and leaves everything odd to it."""

import io
import pickle
import subprocess
import sys
import zipfile
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


def test_labelling_imports_no_torch(model_file: Path):
    save_model(random_model(), model_file)
    program = (
        "import sys; from pathlib import Path\n"
        "from bilstm_crf.prediction.light_tagger import LightTagger\n"
        f"LightTagger(Path({str(model_file)!r})).predict(['Mira sang in Norvale.'])\n"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
