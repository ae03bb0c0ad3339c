"""Model files: what they hold, which are refused and how, and that nothing in them is run."""

import io
import os
import pickle
import resource
import signal
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bilstm_crf import Tagger
from bilstm_crf.commands.info import describe_model
from bilstm_crf.errors import ModelFileError, RunError
from bilstm_crf.prediction import model_file
from bilstm_crf.prediction.archive import load_archive, save_archive
from bilstm_crf.prediction.model_file import TrainedModel, load_model, save_model

FIXTURE = Path(__file__).parent.parent / "fixtures" / "model-v1.pt"
SENTENCES = [
    ["Ada", "Berg", "went", "to", "Tarnvik", "."],
    ["Nobody", "in", "Ostby", "knows", "Ole", "."],
]
LABELS = [["B-PER", "I-PER", "O", "O", "B-LOC", "O"], ["O", "O", "B-LOC", "O", "B-PER", "O"]]


@pytest.fixture(scope="module")
def model() -> TrainedModel:
    return load_model(FIXTURE)


@pytest.fixture
def content() -> dict[str, Any]:
    """What is in the fixture, to be changed by a test."""
    return dict(torch.load(FIXTURE, weights_only=True))


def refused(path: Path) -> str:
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message


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


# Files that are no models


def write_nothing(path: Path) -> None:
    path.write_bytes(b"")


def write_text(path: Path) -> None:
    path.write_text("seed: 1\n", encoding="utf-8")


def write_zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")


def write_other_program(path: Path) -> None:
    torch.save({"state_dict": {"weight": torch.zeros(3)}}, path)


def write_old_torch(path: Path) -> None:
    torch.save({"weight": torch.zeros(3)}, path, _use_new_zipfile_serialization=False)


def write_list(path: Path) -> None:
    torch.save([torch.zeros(3)], path)


def write_network(path: Path) -> None:
    torch.save(torch.nn.Linear(2, 2), path)


def write_half_a_model(path: Path) -> None:
    path.write_bytes(FIXTURE.read_bytes()[:9000])


def write_state(path: Path) -> None:
    save_archive({"trainer": {}}, path, "bilstm-crf training state", 1)


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (write_nothing, "no torch file, or cut short"),
        (write_text, "no torch file, or cut short"),
        (write_zip, "damaged"),
        (write_other_program, "a torch file of another program"),
        (write_old_torch, "no torch file, or cut short"),
        (write_list, "a torch file of another program"),
        (write_network, "holds other objects than tensors and plain values"),
        (write_half_a_model, "no torch file, or cut short"),
        (write_state, "a torch file of another program"),
        (Path.mkdir, "is a folder"),
        (os.mkfifo, "is not a file of its own"),
        (lambda path: None, "no such file"),
    ],
)
def test_what_is_no_model(tmp_path: Path, write: Callable[[Path], None], said: str) -> None:
    write(tmp_path / "model.pt")
    assert said in refused(tmp_path / "model.pt")


def test_a_device_is_no_model() -> None:
    assert "is not a file of its own" in refused(Path("/dev/zero"))


# Files that want to do harm


class Payload:
    """Makes a folder when it is unpickled."""

    def __init__(self, marker: Path):
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return os.makedirs, (str(self.marker),)


def plain_pickle(path: Path, payload: Payload, content: dict[str, Any]) -> None:
    path.write_bytes(pickle.dumps(payload))


def archive_of_a_payload(path: Path, payload: Payload, content: dict[str, Any]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(payload, protocol=2))
        archive.writestr("archive/version", "3\n")


def payload_among_the_values(path: Path, payload: Payload, content: dict[str, Any]) -> None:
    torch.save({**content, "record": {"notes": [payload]}}, path)


def payload_as_a_key(path: Path, payload: Payload, content: dict[str, Any]) -> None:
    torch.save({**content, "weights": {payload: torch.zeros(1)}}, path)


def payload_in_a_tensor(path: Path, payload: Payload, content: dict[str, Any]) -> None:
    tensor = torch.zeros(2)
    tensor.notes = payload  # type: ignore[attr-defined]
    torch.save({**content, "extra": tensor}, path)


def second_pickle(path: Path, payload: Payload, content: dict[str, Any]) -> None:
    """Put a payload behind a whole model, where some readers look."""
    torch.save(content, path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("archive/constants.pkl", pickle.dumps(payload, protocol=2))
        archive.writestr("archive/code/__torch__.py", "import os; os.makedirs('x')")


@pytest.mark.parametrize(
    "write",
    [plain_pickle, archive_of_a_payload, payload_among_the_values, payload_as_a_key,
     payload_in_a_tensor, second_pickle],
)  # fmt: skip
def test_nothing_in_a_file_is_run(
    tmp_path: Path, content: dict[str, Any], write: Callable[..., None]
) -> None:
    marker, path = tmp_path / "PWNED-marker", tmp_path / "model.pt"
    write(path, Payload(marker), content)
    with suppress(ModelFileError):
        load_model(path)
    assert not marker.exists()


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", bytes(50_000_000))
    assert path.stat().st_size < 60_000
    assert "entries that unfold to more than the file" in refused(path)


def repeated_lists(content: dict[str, Any]) -> None:
    value: list[Any] = ["ha"] * 10
    for _ in range(30):
        value = [value] * 10
    content["record"] = {"laughs": value}


def deep_lists(content: dict[str, Any]) -> None:
    value: list[Any] = []
    for _ in range(400):
        value = [value]
    content["record"] = {"deep": value}


def huge_number(content: dict[str, Any]) -> None:
    content["record"] = {"seed": 10**5000}


def tensor_of_one_number(content: dict[str, Any]) -> None:
    content["weights"]["projection.weight"] = torch.zeros(1).expand(10**6, 10**6)


def tensor_on_no_device(content: dict[str, Any]) -> None:
    content["weights"]["projection.weight"] = torch.zeros(10**6, 10**6, device="meta")


def sparse_tensor(content: dict[str, Any]) -> None:
    content["weights"]["projection.weight"] = torch.sparse_coo_tensor(
        torch.zeros(2, 1, dtype=torch.int64), torch.ones(1), (10**6, 10**6), check_invariants=False
    )


def a_parameter(content: dict[str, Any]) -> None:
    content["weights"]["projection.weight"] = torch.nn.Parameter(torch.zeros(2))


def weights_of_other_sizes(content: dict[str, Any]) -> None:
    content["weights"]["projection.bias"] = torch.zeros(3)


def weights_missing(content: dict[str, Any]) -> None:
    del content["weights"]["projection.bias"]


def weights_of_integers(content: dict[str, Any]) -> None:
    weights = content["weights"]
    weights["projection.bias"] = weights["projection.bias"].long()


def weights_of_text(content: dict[str, Any]) -> None:
    content["weights"]["projection.bias"] = "text"


def no_weights(content: dict[str, Any]) -> None:
    content["weights"] = [1, 2]


def lstm_beyond_all_limits(content: dict[str, Any]) -> None:
    content["model"]["lstm"]["hidden_size"] = 10**9


def lstm_of_a_hundred_gigabytes(content: dict[str, Any]) -> None:
    content["model"]["lstm"] = {**content["model"]["lstm"], "hidden_size": 8192, "layers": 16}


def unknown_setting(content: dict[str, Any]) -> None:
    content["model"]["attention"] = True


def settings_of_another_kind(content: dict[str, Any]) -> None:
    content["model"] = "large"


def too_many_labels(content: dict[str, Any]) -> None:
    content["labels"] = ["O"] + [f"B-{number}" for number in range(100_000)]


def labels_twice(content: dict[str, Any]) -> None:
    content["labels"] = content["labels"] * 2


def labels_that_are_none(content: dict[str, Any]) -> None:
    content["labels"] = ["O", "X", 3]


def labels_as_a_number(content: dict[str, Any]) -> None:
    content["labels"] = 7


def unknown_scheme(content: dict[str, Any]) -> None:
    content["scheme"] = "BILOU2"


def scheme_as_a_list(content: dict[str, Any]) -> None:
    content["file_scheme"] = ["BIO"]


def words_twice(content: dict[str, Any]) -> None:
    content["trained_words"] = model_file.pack_strings(["a", "a"])


def words_of_floats(content: dict[str, Any]) -> None:
    content["trained_words"]["bytes"] = content["trained_words"]["bytes"].float()


def words_whose_lengths_do_not_fit(content: dict[str, Any]) -> None:
    content["trained_words"]["lengths"][0] += 1


def words_of_negative_length(content: dict[str, Any]) -> None:
    lengths = content["trained_words"]["lengths"]
    lengths[0], lengths[1] = lengths[0] + 20, lengths[1] - 20


def words_that_are_no_text(content: dict[str, Any]) -> None:
    content["chars"]["bytes"][:] = 255


def words_as_a_list(content: dict[str, Any]) -> None:
    content["chars"] = ["a", "b"]


def columns_as_a_list(content: dict[str, Any]) -> None:
    content["columns"] = ["pos"]


def no_temperature(content: dict[str, Any]) -> None:
    content["temperature"] = float("nan")


def temperature_zero(content: dict[str, Any]) -> None:
    content["temperature"] = 0.0


def record_as_text(content: dict[str, Any]) -> None:
    content["record"] = "trained on a Tuesday"


def entry_missing(content: dict[str, Any]) -> None:
    del content["chars"]


CHANGES = [
    repeated_lists, deep_lists, huge_number, tensor_of_one_number, tensor_on_no_device,
    sparse_tensor, a_parameter, weights_of_other_sizes, weights_missing, weights_of_integers,
    weights_of_text, no_weights, lstm_beyond_all_limits, lstm_of_a_hundred_gigabytes,
    unknown_setting, settings_of_another_kind, too_many_labels, labels_twice,
    labels_that_are_none, labels_as_a_number, unknown_scheme, scheme_as_a_list, words_twice,
    words_of_floats, words_whose_lengths_do_not_fit, words_of_negative_length,
    words_that_are_no_text, words_as_a_list, columns_as_a_list, no_temperature, temperature_zero,
    record_as_text, entry_missing,
]  # fmt: skip


@pytest.fixture
def little_memory() -> Iterator[None]:
    """Let this process grow by at most 2 GB."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = used * resource.getpagesize() + 2 * 2**30
    resource.setrlimit(resource.RLIMIT_AS, (limit, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_content_that_no_model_has_is_refused(
    content: dict[str, Any], tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    change(content)
    torch.save(content, tmp_path / "model.pt")
    refused(tmp_path / "model.pt")


def test_a_tensor_that_claims_to_be_longer_than_its_bytes(
    content: dict[str, Any], tmp_path: Path
) -> None:
    """Without a check, torch would read beyond the end of the bytes it has."""
    content["weights"]["projection.bias"] = torch.zeros(77)
    buffer = io.BytesIO()
    torch.save(content, buffer)
    path = tmp_path / "model.pt"
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(path, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename.endswith("data.pkl"):
                assert data.count(b"K\x4d") == 2  # elements of the storage, size of the tensor
                data = data.replace(b"K\x4d", b"J\x00\x00\x00\x7f")
            new.writestr(entry, data)
    refused(path)


def test_info_writes_nothing_that_a_terminal_would_obey(
    content: dict[str, Any], tmp_path: Path
) -> None:
    content["record"]["started"] = "\x1b[2Jnow\r\n"
    content["record"]["scores"] = 3
    torch.save(content, tmp_path / "model.pt")
    lines = dict(describe_model(tmp_path / "model.pt"))
    assert all(value.isprintable() for value in lines.values())
    assert lines["record"] == "not one that bilstm-crf train wrote"


# Damage


_WHOLE = FIXTURE.read_bytes()


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(_WHOLE) - 1), st.integers(1, 255)), max_size=3),
    st.integers(0, len(_WHOLE)) | st.just(len(_WHOLE)),
)
def test_a_damaged_file_is_refused_or_read_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]], length: int
) -> None:
    data = bytearray(_WHOLE)
    for place, change in changes:
        data[place] ^= change
    path = tmp_path_factory.mktemp("damaged") / "model.pt"
    path.write_bytes(data[:length])
    with suppress(ModelFileError):
        assert load_model(path).weights_hash() == load_model(FIXTURE).weights_hash()


@pytest.mark.parametrize("place", [0.2, 0.5, 0.8])
def test_one_changed_bit_of_the_weights_is_seen(tmp_path: Path, place: float) -> None:
    with zipfile.ZipFile(FIXTURE) as archive:
        largest = max(archive.infolist(), key=lambda entry: entry.file_size)
        at = _WHOLE.index(archive.read(largest))
    data = bytearray(_WHOLE)
    data[at + int(place * largest.file_size)] ^= 1
    (tmp_path / "model.pt").write_bytes(data)
    assert "damaged (a checksum does not fit); copy it again" in refused(tmp_path / "model.pt")


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
