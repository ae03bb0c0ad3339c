"""Streams are cut at sentences or lines, whatever the pieces they arrive in."""

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trickle import Trickle

from bilstm_crf.errors import DataError
from bilstm_crf.prediction import line_blocks
from bilstm_crf.prediction.input_format import detect_input_format
from bilstm_crf.prediction.line_blocks import last_line_end, last_sentence_end, read_blocks

PATH = Path("some.txt")
LINES = st.lists(st.sampled_from([b"a", b"bb", b"", b"  ", b"\t", b"\r", b"c\r"]), max_size=12)


@given(LINES, st.integers(1, 5), st.integers(1, 9), st.booleans(), st.booleans())
def test_blocks_are_the_stream_cut_at_borders(
    lines: list[bytes], size: int, block: int, sentences: bool, ended: bool
):
    data = b"\n".join(lines) + (b"\n" if ended else b"")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_blocks, "BLOCK_BYTES", block)
        stream = Trickle(data, size)
        blocks = list(
            read_blocks(stream, PATH, last_end=last_sentence_end if sentences else last_line_end)
        )
    assert b"".join(blocks) == data
    assert b"" not in blocks
    for one in blocks[:-1]:
        assert one.endswith(b"\n")
        if sentences:
            assert one.split(b"\n")[-2].strip() == b""


def test_a_sentence_that_does_not_end_is_cut_at_a_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(line_blocks, "BLOCK_BYTES", 4)
    monkeypatch.setattr(line_blocks, "MOST_BYTES", 40)
    data = b"word\n" * 100
    blocks = list(read_blocks(Trickle(data, 7), PATH, last_end=last_sentence_end))
    assert b"".join(blocks) == data
    assert max(map(len, blocks)) < 60


def test_a_slow_writer_gets_each_sentence_at_once():
    reading, writing = os.pipe()
    with open(reading, "rb") as stream, open(writing, "wb", buffering=0) as pipe:
        blocks = read_blocks(stream, PATH, last_end=last_sentence_end)
        for sentence in (b"Mira\nsang\n\n", b"Holt\n\n"):
            # A reader that waits for more than what is there would hang here.
            timer = threading.Timer(20, pipe.close)
            timer.start()
            pipe.write(sentence)
            assert next(blocks) == sentence
            timer.cancel()
        pipe.write(b"end")
        pipe.close()
        assert list(blocks) == [b"end"]


def test_other_encodings_become_utf8():
    text = "Zoë\n\nžluť\n"
    for encoding in ("latin-1", "cp1250", "utf-16"):
        written = text if encoding != "latin-1" else "Zoë\n"
        stream = Trickle(written.encode(encoding), 3)
        blocks = read_blocks(stream, PATH, last_end=last_sentence_end, encoding=encoding)
        assert b"".join(blocks).decode() == written
    with pytest.raises(DataError, match="unknown encoding 'latin-9000'"):
        list(read_blocks(Trickle(b"a", 1), PATH, last_end=last_sentence_end, encoding="latin-9000"))
    with pytest.raises(DataError, match=r"some\.txt:2: is not ascii"):
        list(
            read_blocks(Trickle(b"a\n\xe9", 2), PATH, last_end=last_sentence_end, encoding="ascii")
        )


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"", "tokens"),
        (b"Mira\nsang\n\n", "tokens"),
        (b"Mira NNP B-PER\nsang VBD O\n", "tokens"),
        (b"Mira x y\nsang\n. a b c d\n", "tokens"),
        (b"-DOCSTART- -X- -X- O\n\nMira NNP\n", "tokens"),
        (b"Mira sang\tO\nin the rain .\tO\n", "tokens"),
        (b"Mira Holt sang.\n", "text"),
        (b"\xef\xbb\xbfMira sang. \xe2\x80\x9cIt rained.\xe2\x80\x9d\n", "text"),
        (
            b"The rain fell on the town all day\nand nobody knew what to do about it at all\n",
            "text",
        ),
        ("她在诺维尔唱歌 。\n".encode(), "text"),
        (b'{"text": "a"}\n', "jsonl"),
        (b"  {}\n", "jsonl"),
        (b"{\n}\n", "tokens"),
        (b"[\n]\n", "tokens"),
    ],
)
def test_what_an_input_is(head: bytes, expected: str):
    assert detect_input_format(head) == expected
