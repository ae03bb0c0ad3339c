"""Reads a stream of bytes in blocks of whole lines, or of whole sentences, as they arrive."""

import codecs
import re
import select
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from bilstm_crf.errors import DataError

BLOCK_BYTES = 1 << 19
"""Size of a block, about 100,000 lines of one token: large enough to sort sentences by length."""

MOST_BYTES = 1 << 23
"""Where no blank line comes, a block ends at a line once it is this large."""

LastEnd = Callable[[bytearray, int], int]
"""Finds where the last whole line or sentence of some bytes ends, 0 if there is none.

The second argument is how many of the first bytes are known to hold no end.
"""

_READ_BYTES = 1 << 17
_SENTENCE_END = re.compile(rb"\n[ \t\r\f\v]*\n")


def read_some(stream: BinaryIO) -> bytes:
    """Return what a stream has, waiting only if that is nothing; empty at its end."""
    read = getattr(stream, "read1", stream.read)
    data: bytes = read(_READ_BYTES)
    return data


def read_blocks(
    stream: BinaryIO,
    path: Path,
    *,
    last_end: LastEnd,
    encoding: str = "utf-8",
    head: bytes = b"",
) -> Iterator[bytes]:
    """Yield all bytes of a stream, as UTF-8, cut at line ends.

    A block is full, or else all that has arrived: a slow writer is answered sentence by sentence.

    Args:
        stream: open for reading.
        path: where it comes from, for messages.
        last_end: finds where to cut; what has no end for long is cut at a line.
        encoding: of the stream.
        head: what has been read of it already.

    Raises:
        DataError: the encoding is unknown, or a byte does not fit it. (Bytes of UTF-8 are not
            looked at here.)
    """
    recode = _recoder(encoding, path)
    ready = _readiness(stream)
    pending = bytearray()
    searched = 0
    while data := head or read_some(stream):
        head = b""
        pending += recode(data, False)
        if len(pending) < BLOCK_BYTES and ready():
            continue
        end = last_end(pending, searched)
        if not end and len(pending) >= MOST_BYTES:
            end = pending.rfind(b"\n") + 1
        if end:
            yield bytes(pending[:end])
            del pending[:end]
        searched = len(pending)
    pending += recode(b"", True)
    if pending:
        yield bytes(pending)


def last_line_end(pending: bytearray, searched: int) -> int:
    """Return where the last whole line ends, 0 if there is none; a :data:`LastEnd`."""
    return pending.rfind(b"\n", searched) + 1


def last_sentence_end(pending: bytearray, searched: int) -> int:
    """Return where the last blank line ends, 0 if there is none; a :data:`LastEnd`."""
    first = max(0, pending.rfind(b"\n", 0, searched))
    plain = pending.rfind(b"\n\n", first)
    if plain >= 0:
        return plain + 2
    end = 0
    for match in _SENTENCE_END.finditer(pending, first):
        end = match.end()
    return end


def _recoder(encoding: str, path: Path) -> Callable[[bytes, bool], bytes]:
    try:
        name = codecs.lookup(encoding).name
        decoder = codecs.getincrementaldecoder(name)()
    except (LookupError, TypeError):
        raise DataError(f"unknown encoding {encoding!r} (data.encoding)", path) from None
    return _Recode(None if name == "utf-8" else decoder, encoding, path)


class _Recode:
    """Turns bytes of one encoding into UTF-8, piece by piece."""

    def __init__(self, decoder: codecs.IncrementalDecoder | None, encoding: str, path: Path):
        self._decoder, self._encoding, self._path = decoder, encoding, path
        self._line = 1

    def __call__(self, data: bytes, final: bool) -> bytes:
        if self._decoder is None:
            if b"\0" in data:
                message = "NUL character: not a text file, or one in UTF-16 or UTF-32"
                line = self._line + data.count(b"\n", 0, data.index(b"\0"))
                raise DataError(f"{message} (--set data.encoding=NAME)", self._path, line)
            self._line += data.count(b"\n")
            return data
        try:
            text = self._decoder.decode(data, final)
        except UnicodeError as error:
            message = f"is not {self._encoding} ({error}); see --set data.encoding"
            raise DataError(message, self._path, self._line) from None
        self._line += text.count("\n")
        return text.encode()


def _readiness(stream: BinaryIO) -> Callable[[], bool]:
    """Return what tells whether more can be read without waiting."""
    try:
        number = stream.fileno()
        select.select([number], [], [], 0)
    except (AttributeError, OSError, ValueError):
        # Not a file of the system, or one that cannot be asked: it does not keep us waiting.
        return lambda: True
    return lambda: bool(select.select([number], [], [], 0)[0])
