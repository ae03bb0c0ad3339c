"""Files that are no models, are damaged or mean harm: refused in a line, nothing in them run."""

import io
import os
import pickle
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from model_fixture import FIXTURE, refused

from bilstm_crf.commands.info import describe_model
from bilstm_crf.errors import ModelFileError
from bilstm_crf.prediction.archive import save_archive
from bilstm_crf.prediction.model_file import load_model

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
