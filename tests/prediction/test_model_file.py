"""Model files: what they hold, which are refused and how, and that nothing in them is run."""

import resource
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from model_fixture import FIXTURE, refused

from bilstm_crf import Tagger
from bilstm_crf.errors import RunError
from bilstm_crf.prediction import model_file
from bilstm_crf.prediction.archive import load_archive
from bilstm_crf.prediction.model_file import TrainedModel, load_model, save_model

SENTENCES = [
    ["Ada", "Berg", "went", "to", "Tarnvik", "."],
    ["Nobody", "in", "Ostby", "knows", "Ole", "."],
]
LABELS = [["B-PER", "I-PER", "O", "O", "B-LOC", "O"], ["O", "O", "B-LOC", "O", "B-PER", "O"]]


@pytest.fixture(scope="module")
def model() -> TrainedModel:
    return load_model(FIXTURE)


def plain_types(value: Any) -> Iterator[type]:
    yield type(value)
    if isinstance(value, dict):
        for part in (*value.keys(), *value.values()):
            yield from plain_types(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from plain_types(part)


# What a model file is


def test_a_file_of_version_1_still_predicts() -> None:
    tagger = Tagger.load(FIXTURE)
    assert tagger.predict_tokens(SENTENCES) == LABELS
    assert tagger.model.record["versions"]["bilstm-crf"]
    assert tagger.model.vocabularies.words.stored == ("lakeside",)


def test_a_model_holds_tensors_and_plain_types_only(content: dict[str, Any]) -> None:
    known = {dict, list, str, int, float, bool, type(None), torch.Tensor}
    assert set(plain_types(content)) <= known
    assert (content["format"], content["version"]) == ("bilstm-crf model", 1)


def test_a_saved_model_is_the_same_and_no_larger_than_what_it_holds(
    model: TrainedModel, tmp_path: Path
) -> None:
    path = tmp_path / "model.pt"
    save_model(model, path)
    again = load_model(path)
    assert again.weights_hash() == model.weights_hash()
    assert again.record == model.record
    for part in ("section", "scheme", "file_scheme", "temperature"):
        assert getattr(again, part) == getattr(model, part)
    words = again.vocabularies.words
    assert words.trained == model.vocabularies.words.trained
    assert again.vocabularies.labels == model.vocabularies.labels
    weights = sum(tensor.nbytes for tensor in model.weights.values())
    entries = 60 * 250  # an archive gives each tensor a head and aligns it
    assert path.stat().st_size < weights + entries
    assert Tagger(again).predict_tokens(SENTENCES) == LABELS


def test_strings_of_all_kinds_come_back(model: TrainedModel, tmp_path: Path) -> None:
    odd = ("", "a\nb", "\x00", "Ꙗ中文", "\ud800", "👩‍🚀", " " * 3)
    columns = {"pos.x": model_file.Vocabulary(odd)}
    content_with = replace(model, vocabularies=replace(model.vocabularies, columns=columns))
    save_model(content_with, tmp_path / "model.pt")
    loaded = load_archive(tmp_path / "model.pt", "bilstm-crf model", 1)
    assert model_file.unpack_strings(loaded["columns"]["pos.x"]) == list(odd)


def test_half_precision_keeps_what_float16_cannot_hold(model: TrainedModel) -> None:
    weights = dict(model.weights)
    name = next(iter(weights))
    weights[name] = torch.full_like(weights[name], 1e6)
    half = replace(model, weights=weights).in_half()
    assert half.weights[name].dtype == torch.float32
    assert {t.dtype for n, t in half.weights.items() if n != name} == {torch.float16}
    assert Tagger(model.in_half()).predict_tokens(SENTENCES) == LABELS


def test_equal_weights_have_equal_hashes(model: TrainedModel) -> None:
    weights = {name: tensor.clone() for name, tensor in reversed(model.weights.items())}
    assert replace(model, weights=weights, record={}).weights_hash() == model.weights_hash()
    next(iter(weights.values())).view(-1)[0] += 1e-6
    assert replace(model, weights=weights).weights_hash() != model.weights_hash()


# Versions


def test_an_older_file_is_upgraded_step_by_step(
    content: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rename(old: dict[str, Any]) -> dict[str, Any]:
        return {**old, "labels": old["names_of_labels"]}

    def halve(old: dict[str, Any]) -> dict[str, Any]:
        return {**old, "temperature": old["temperature"] / 2}

    monkeypatch.setattr(model_file, "UPGRADES", (rename, halve))
    content["names_of_labels"] = content.pop("labels")
    torch.save(content, tmp_path / "old.pt")
    old = load_model(tmp_path / "old.pt")
    assert old.temperature == 0.5
    save_model(old, tmp_path / "new.pt")
    assert torch.load(tmp_path / "new.pt", weights_only=True)["version"] == 3
    assert load_model(tmp_path / "new.pt").temperature == 0.5


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (2, "model format 2 of a newer bilstm-crf; this one reads formats up to 1; upgrade with"),
        (0, "damaged (version 0)"),
        ("1", "damaged (version '1')"),
        (None, "damaged (version None)"),
    ],
)
def test_other_versions(
    content: dict[str, Any], tmp_path: Path, version: object, said: str
) -> None:
    torch.save({**content, "version": version}, tmp_path / "model.pt")
    assert said in refused(tmp_path / "model.pt")


# Writing


def test_a_full_disk_leaves_the_old_file(model: TrainedModel, tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    save_model(model, path)
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, limits[1]))
    try:
        with pytest.raises(RunError, match=r"model\.pt: cannot be written: File too large"):
            save_model(model.with_record(seed=99), path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["model.pt"]


def test_a_folder_that_is_not_there_is_named(model: TrainedModel, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"no/model\.pt: cannot be written: No such file"):
        save_model(model, tmp_path / "no" / "model.pt")
