"""From bytes to whole lines: encodings, line ends, compression, and the place of a wrong byte."""

import gzip
import io
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilstm_crf.corpus import text_source
from bilstm_crf.corpus.text_source import STANDARD_INPUT, read_text
from bilstm_crf.errors import DataError


def read(path, encoding="utf-8"):
    return "".join(read_text(path, encoding))


@pytest.fixture
def write(tmp_path):
    def write(data, name="file.txt"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"a\nb\n", "a\nb\n"),
        (b"a\nb", "a\nb\n"),
        (b"a\r\nb\r\n", "a\nb\n"),
        (b"a\r\nb\nc\r\n", "a\nb\nc\n"),
        (b"a\r\r\nb", "a\nb\n"),
        (b"a\rb\rc", "a\nb\nc\n"),
        (b"a\rb\nc\n", "a\rb\nc\n"),
        (b"\xef\xbb\xbfa\n", "a\n"),
        ("a\u2028b\u0085c\u00a0d\x0b\x0ce\n".encode(), "a\u2028b\u0085c\u00a0d\x0b\x0ce\n"),
    ],
)
def test_only_line_feeds_end_lines_and_returns_before_them_go(write, data, text):
    assert read(write(data)) == text


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_the_size_of_the_pieces_changes_nothing(write, monkeypatch, size):
    monkeypatch.setattr(text_source, "CHUNK_BYTES", size)
    text = "één\r\ntwee 𝔸\r\n\r\n三\r\n"
    pieces = list(read_text(write(text.encode())))
    assert "".join(pieces) == text.replace("\r\n", "\n")
    assert all(piece.endswith("\n") for piece in pieces)


@given(text=st.text(st.characters(exclude_characters="\r\0", exclude_categories=["Cs"])))
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32", "utf-16-le"])
def test_any_text_comes_back_from_any_unicode_encoding(tmp_path_factory, encoding, text):
    if text.startswith("\ufeff"):  # which is a byte order mark, no part of the text
        return
    path = tmp_path_factory.mktemp("text") / "file.txt"
    path.write_bytes(text.encode(encoding))
    assert read(path, encoding) == (text if text.endswith("\n") or not text else text + "\n")


def test_latin_1_read_as_utf_8_names_line_byte_and_offset(write):
    data = "Mira B-PER\nsang O\nZoé B-PER\n".encode("latin-1")
    path = write(data)
    with pytest.raises(DataError) as caught:
        read(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:3: byte 0xe9 at offset 20 is not utf-8")
    assert "data.encoding" in message
    assert read(path, "latin-1") == data.decode("latin-1")


def test_a_wrong_byte_far_into_a_file_has_the_right_place(write, monkeypatch):
    monkeypatch.setattr(text_source, "CHUNK_BYTES", 16)
    start = "één twee drie\n".encode() * 20
    with pytest.raises(DataError, match=f":21: byte 0xff at offset {len(start) + 2} "):
        read(write(start + b"ab\xff\n"))


def test_a_character_cut_off_at_the_end_is_an_error(write):
    with pytest.raises(DataError, match=":2: byte 0xc3 at offset 3 is not utf-8"):
        read(write(b"ab\n\xc3"))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_byte_order_mark_tells_the_encoding(write, encoding):
    told = []
    path = write("Zoë B-PER\r\n".encode(encoding))
    assert "".join(read_text(path, tell_encoding=told.append)) == "Zoë B-PER\n"
    assert told == [encoding]
    with pytest.raises(DataError, match=f"mark of {encoding}, but data.encoding is latin-1"):
        read(path, "latin-1")
    assert "".join(read_text(path, encoding, tell_encoding=told.append)) == "Zoë B-PER\n"
    assert told == [encoding]
    big_endian = "\ufeffMira\n".encode(encoding + "-be")
    assert read(write(big_endian)) == "Mira\n"


def test_utf_16_without_mark_and_binary_files_are_named(write):
    with pytest.raises(DataError, match=":1: NUL character: not a text file"):
        read(write("Mira\n".encode("utf-16-le")))
    with pytest.raises(DataError, match=":2: NUL character"):
        read(write(b"a\nb\0c\n"))


@pytest.mark.parametrize("name", ["file.gz", "file.txt"])
def test_gzip_is_known_by_its_first_bytes(write, name):
    assert read(write(gzip.compress("één\n".encode()), name)) == "één\n"


def test_damaged_gzip_is_a_one_line_error(write):
    whole = gzip.compress(b"some text\n" * 1000)
    for damaged in (whole[:-20], whole[:30] + b"xx" + whole[32:], whole[:12]):
        with pytest.raises(DataError, match="cannot be unpacked or read to its end"):
            read(write(damaged))


def test_missing_files_folders_and_unknown_encodings_say_so(tmp_path, write):
    with pytest.raises(DataError, match=r"nowhere\.txt: no such file"):
        read(tmp_path / "nowhere.txt")
    with pytest.raises(DataError, match="is a folder; a file is needed"):
        read(tmp_path)
    for encoding in ("klingon", "hex", "undefined", "idna"):
        with pytest.raises(DataError, match=r"encoding|is not"):
            read(write(b"\xffa\n"), encoding)


def test_standard_input_gives_each_line_as_it_comes(monkeypatch):
    pieces = [b"a O\n", b"b", b" O\n\nc", b" O\n"]

    class Pipe(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, buffer):
            piece = pieces.pop(0) if pieces else b""
            buffer[: len(piece)] = piece
            return len(piece)

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Pipe())))
    assert list(read_text(STANDARD_INPUT)) == ["a O\n", "b O\n\n", "c O\n"]
