"""Results on their way out: into files that are whole or not there, and into pipes and devices."""

import os
import threading
from pathlib import Path

import pytest

from bilstm_crf.commands.output import write_text
from bilstm_crf.errors import RunError


def test_a_file_in_a_new_folder_with_line_feeds_as_given(tmp_path: Path) -> None:
    target = tmp_path / "a" / "b.txt"
    write_text(["größe\n", "\r\n"], str(target))
    assert target.read_bytes() == "größe\n\r\n".encode()
    assert os.listdir(target.parent) == ["b.txt"]


def test_what_was_there_stays_when_the_writer_fails(tmp_path: Path) -> None:
    target = tmp_path / "b.txt"
    target.write_text("old")
    with pytest.raises(ZeroDivisionError):
        write_text((str(1 // number) for number in (1, 0)), str(target))
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["b.txt"]


def test_a_named_pipe_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    write_text(["one\n", "two\n"], str(pipe))
    reader.join(timeout=10)
    assert received == [b"one\ntwo\n"]
    assert pipe.is_fifo()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match=r"file/b\.txt: cannot be written"):
        write_text([""], str(tmp_path / "file" / "b.txt"))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot be written"):
        write_text([""], str(tmp_path))
