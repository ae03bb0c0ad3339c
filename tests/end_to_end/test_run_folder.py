"""Run folders that cannot be written, hold something already, or are wanted twice."""

import errno
import fcntl
import json
import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest

from bilstm_crf.commands.run_folder import RunFolder, newest_run
from bilstm_crf.errors import RunError
from bilstm_crf.prediction.model_file import load_model


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("file", "is a file, expected a folder for the run"),
        ("file/below", "cannot be made: Not a directory"),
        ("/proc/nothing/run", "cannot be made: No such file or directory"),
    ],
)
def test_a_place_where_no_folder_can_be(
    command: Callable, make_config: Callable, tmp_path: Path, place: str, said: str
) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    done = command("train", make_config(), "--output-dir", tmp_path / place)
    assert done.code == 1
    assert done.err == f"error: {tmp_path / place}: {said}\n"
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"


def test_a_folder_that_cannot_be_written(
    command: Callable, make_config: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, mode: str = "r", **options: Any) -> IO[Any]:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    config = make_config()
    (tmp_path / "run").mkdir()
    with monkeypatch.context() as patch:
        open_path = Path.open
        patch.setattr(
            Path,
            "open",
            lambda p, *a, **k: (refuse if p.name == ".lock" else open_path)(p, *a, **k),
        )
        done = command("train", config, "--output-dir", tmp_path / "run")
    assert done.code == 1
    assert done.err == f"error: {tmp_path}/run: cannot be written: Read-only file system\n"


def test_an_empty_folder_and_missing_parents_are_taken(
    command: Callable, make_config: Callable, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    config = make_config(epochs=1)
    assert command("train", config, "--output-dir", tmp_path / "empty").code == 0
    assert command("train", config, "--output-dir", tmp_path / "a" / "b" / "c").code == 0


def test_another_run_is_not_touched(
    command: Callable, make_config: Callable, tmp_path: Path
) -> None:
    command("train", make_config(epochs=1), "--output-dir", tmp_path / "run")
    before = contents(tmp_path / "run")
    other = make_config("other", epochs=1, model={"lstm": {"hidden_size": 9}})
    refused = command("train", other, "--output-dir", tmp_path / "run")
    assert refused.code == 1
    assert "holds another run (model.pt, config.yaml" in refused.err
    assert "--resume" in refused.err
    assert "--overwrite" in refused.err
    assert contents(tmp_path / "run") == before


def test_overwriting_replaces_the_whole_run_but_only_once_the_new_one_can_start(
    command: Callable, make_config: Callable, tmp_path: Path
) -> None:
    command("train", make_config(epochs=3), "--output-dir", tmp_path / "run")
    before = contents(tmp_path / "run")
    other = make_config("other", epochs=1, model={"lstm": {"hidden_size": 9}})
    data = tmp_path / "train.conll"
    good = data.read_text(encoding="utf-8")
    data.write_text("word\nother B-PER\n", encoding="utf-8")
    failed = command("train", other, "--output-dir", tmp_path / "run", "--overwrite")
    assert failed.code == 1
    assert contents(tmp_path / "run") == before
    data.write_text(good, encoding="utf-8")
    assert command("train", other, "--output-dir", tmp_path / "run", "--overwrite").code == 0
    model = load_model(tmp_path / "run" / "model.pt")
    assert model.section.lstm.hidden_size == 9
    assert len((tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()) == 1


def test_a_run_does_not_write_over_its_own_configuration(
    command: Callable, make_config: Callable, tmp_path: Path
) -> None:
    path = make_config("config")
    before = path.read_bytes()
    done = command("train", path, "--output-dir", tmp_path, "--overwrite")
    assert done.code == 1
    assert "would write over its own configuration" in done.err
    assert path.read_bytes() == before


def test_the_output_folder_of_the_configuration_starts_from_its_file(
    command: Callable, make_config: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_config(epochs=1)
    path.write_text(path.read_text(encoding="utf-8") + "output_dir: out/run\n", encoding="utf-8")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert command("train", path).code == 0
    assert (tmp_path / "out" / "run" / "model.pt").exists()
    assert command("train", make_config("named", epochs=1)).code == 0
    assert (tmp_path / "elsewhere" / "runs" / "named" / "model.pt").exists()
    assert newest_run(tmp_path / "elsewhere") == tmp_path / "elsewhere" / "runs" / "named"


def test_missing_data_is_told_before_anything_is_written(
    command: Callable, make_config: Callable, tmp_path: Path
) -> None:
    path = make_config(data={"train": "nowhere/train.conll"})
    done = command("train", path, "--output-dir", tmp_path / "run")
    assert done.code == 1
    assert f"data.train: {tmp_path}/nowhere/train.conll: no such file" in done.err
    assert not (tmp_path / "run").exists()


# Two at once


def test_a_folder_in_use_is_refused(command: Callable, make_config: Callable, tmp_path: Path):
    (tmp_path / "run").mkdir()
    with (tmp_path / "run" / ".lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = command("train", make_config(epochs=1), "--output-dir", tmp_path / "run")
        assert done.code == 1
        assert "in use by another running training" in done.err
    assert command("train", make_config(epochs=1), "--output-dir", tmp_path / "run").code == 0


def test_the_lock_goes_with_the_folder(tmp_path: Path) -> None:
    first, second = RunFolder(tmp_path / "run"), RunFolder(tmp_path / "run")
    with first:
        first.open_new(overwrite=False)
        with pytest.raises(RunError, match="in use"):
            second.open_new(overwrite=False)
    with second:
        second.open_new(overwrite=False)


def test_a_file_system_without_locks_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(file: Any, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with RunFolder(tmp_path / "run") as folder:
        folder.open_new(overwrite=False)
        folder.write_text("a.txt", "written")
    assert "cannot be locked (No locks available)" in caplog.text


# A disk that is full


@pytest.fixture
def small_files() -> Any:
    """Let no file grow beyond a size, as on a full disk.

    A test lifts the limit itself as soon as it can: pytest's own output may be a file too.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def limit(size: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))

    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_ends_the_run_with_its_reason_and_leaves_no_half_file(
    command: Callable, make_config: Callable, tmp_path: Path, small_files: Callable
) -> None:
    config = make_config(epochs=1)
    small_files(20_000)
    done = command("train", config, "--output-dir", tmp_path / "run")
    small_files(resource.RLIM_INFINITY)
    assert done.code == 1
    last = done.err.splitlines()[-1]
    assert last == f"error: {tmp_path}/run/state.pt: cannot be written: File too large"
    assert {file.name for file in (tmp_path / "run").iterdir()} == {".lock"}


def test_a_disk_that_fills_up_leaves_the_old_files_and_the_run_can_go_on(
    command: Callable, make_config: Callable, tmp_path: Path, small_files: Callable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    config = make_config(epochs=3)
    command("train", config, "--output-dir", tmp_path / "whole")
    before: dict[str, bytes] = {}
    add_metrics = RunFolder.add_metrics

    def fill(self: RunFolder, line: Any) -> None:
        add_metrics(self, line)
        if line["epoch"] == 2:
            before.update(contents(self.path))
            small_files(20_000)

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "add_metrics", fill)
        done = command("train", config, "--output-dir", tmp_path / "run")
    small_files(resource.RLIM_INFINITY)
    assert done.code == 1
    assert "state.pt: cannot be written: File too large" in done.err
    assert contents(tmp_path / "run") == before
    assert command("train", "--resume", tmp_path / "run").code == 0
    reports = [
        json.loads((tmp_path / run / "report.json").read_text(encoding="utf-8"))
        for run in ("run", "whole")
    ]
    assert reports[0]["weights_sha256"] == reports[1]["weights_sha256"]


def test_a_text_file_that_cannot_be_written_stays_as_it_was(
    tmp_path: Path, small_files: Callable
) -> None:
    folder = RunFolder(tmp_path)
    folder.write_text("a.txt", "old")
    small_files(1000)
    with pytest.raises(RunError, match=r"a\.txt: cannot be written: File too large"):
        folder.write_text("a.txt", "x" * 5000)
    small_files(resource.RLIM_INFINITY)
    assert contents(tmp_path) == {"a.txt": b"old"}


def test_metrics_that_no_run_wrote_are_named(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"epoch": 1}\n\nnonsense\n', encoding="utf-8")
    with pytest.raises(RunError, match=r"metrics\.jsonl:3: not a line of JSON values"):
        RunFolder(tmp_path).read_metrics()


def test_an_interrupted_run_repeats_no_line_of_metrics(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    for epoch in (1, 2, 3, 2):
        folder.add_metrics({"epoch": epoch})
    assert folder.read_metrics() == [{"epoch": 1}, {"epoch": 2}]
