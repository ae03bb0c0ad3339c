"""From the bytes of a file to text in whole lines, with a place for every wrong byte."""

import codecs
import gzip
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from bilstm_crf.corpus.byte_order import encoding_of
from bilstm_crf.errors import DataError

CHUNK_BYTES = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"
STANDARD_INPUT = Path("-")


def open_bytes(path: Path) -> BinaryIO:
    """Open a file, or standard input for ``-``; gzip is unpacked, whatever the name.

    Raises:
        DataError: the file does not exist, is a folder or cannot be read.
    """
    if path == STANDARD_INPUT:
        return sys.stdin.buffer
    if path.is_dir():
        raise DataError("is a folder; a file is needed", path.absolute())
    try:
        if path.suffix == ".gz" or (path.is_file() and _first_bytes(path) == GZIP_MAGIC):
            return cast(BinaryIO, gzip.open(path))
        return path.open("rb")
    except FileNotFoundError:
        raise DataError("no such file", path.absolute()) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", path.absolute()) from None


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(len(GZIP_MAGIC))


def read_bytes(path: Path, size: int | None = None) -> Iterator[bytes]:
    """Yield the bytes of a file, unpacked, in pieces; of a pipe, what has arrived.

    Args:
        path: the file, or ``-`` for standard input.
        size: most bytes of a piece; default ``CHUNK_BYTES``.

    Raises:
        DataError: the file cannot be opened, unpacked or read to its end.
    """
    stream = open_bytes(path)
    # A pipe gives what has arrived, so that a waiting reader sees each line at once.
    read = stream.read1 if path == STANDARD_INPUT else stream.read  # type: ignore[attr-defined]
    try:
        while data := read(size or CHUNK_BYTES):
            yield data
    except (EOFError, OSError, zlib.error) as error:
        raise DataError(f"cannot be unpacked or read to its end: {error}", path) from None
    finally:
        if path != STANDARD_INPUT:
            stream.close()


def read_text(
    path: Path, encoding: str = "utf-8", *, tell_encoding: Callable[[str], None] | None = None
) -> Iterator[str]:
    r"""Yield the text of a file in pieces of whole lines, each line ended by ``\n``.

    Carriage returns before a line feed are dropped, as is a byte order mark. A file
    whose only line ends are carriage returns is cut at those. No other character ends
    a line. The last line gets its ``\n`` if it has none.

    Args:
        path: the file, gzipped or not, or ``-`` for standard input.
        encoding: any text encoding Python knows; the locale plays no role. A file that is not
            UTF-8 but has the byte order mark of UTF-16 or UTF-32 is read as such.
        tell_encoding: called with the encoding that such a mark names.

    Raises:
        DataError: a byte or character cannot be; names line and byte offset.
    """
    decoder = _Decoder(path, encoding, tell_encoding)
    unfinished: list[str] = []
    seen_line_feed = False
    for data in read_bytes(path):
        text = decoder.decode(data)
        end = text.rfind("\n") + 1
        if not end:
            unfinished.append(text)
            continue
        seen_line_feed = True
        yield _normal_line_ends("".join([*unfinished, text[:end]]))
        unfinished = [text[end:]]
    rest = "".join([*unfinished, decoder.decode(b"", final=True)])
    if rest and not seen_line_feed:
        rest = rest.replace("\r", "\n")
    if rest:
        yield _normal_line_ends(rest if rest.endswith("\n") else rest + "\n")


def _normal_line_ends(text: str) -> str:
    while "\r\n" in text:
        text = text.replace("\r\n", "\n")
    return text


class _Decoder:
    """Decodes a file piece by piece and knows the line and byte offset of a wrong byte."""

    def __init__(self, path: Path, encoding: str, tell: Callable[[str], None] | None):
        self._path, self._tell = path, tell
        self._use(encoding)
        self._offset = self._lines = 0

    def _use(self, encoding: str) -> None:
        self._encoding = encoding
        try:
            "".encode(encoding)  # refuses codecs that are no text encodings, such as hex
            name = codecs.lookup(encoding).name
            # The signature variant drops a byte order mark where there is one.
            decoder = codecs.getincrementaldecoder("utf-8-sig" if name == "utf-8" else name)
        except (LookupError, TypeError, UnicodeError):
            raise DataError(f"unknown encoding {encoding!r} (data.encoding)", self._path) from None
        self._decoder = decoder("strict")

    def decode(self, data: bytes, final: bool = False) -> str:
        """Decode the next bytes."""
        if not self._offset:
            marked = encoding_of(data, self._encoding, self._path)
            if marked != self._encoding:
                self._use(marked)
                if self._tell:
                    self._tell(marked)
        pending = len(self._decoder.getstate()[0])
        try:
            text = self._decoder.decode(data, final)
        except UnicodeError as error:
            raise self._error(error, pending) from None
        if "\0" in text:
            line = self._lines + text.count("\n", 0, text.index("\0")) + 1
            message = "NUL character: not a text file, or one in UTF-16 or UTF-32 (data.encoding)"
            raise DataError(message, self._path, line)
        self._offset += len(data)
        self._lines += text.count("\n")
        return text

    def _error(self, error: UnicodeError, pending: int) -> DataError:
        if not isinstance(error, UnicodeDecodeError):
            return DataError(f"is not {self._encoding}: {error}", self._path, self._lines + 1)
        before = error.object[: error.start].decode(self._encoding, "replace")
        wrong = error.object[error.start]
        message = (
            f"byte 0x{wrong:02x} at offset {self._offset - pending + error.start} is not "
            f"{self._encoding}; set data.encoding to the file's own encoding "
            f"(such as latin-1 or cp1252) or convert the file to UTF-8"
        )
        return DataError(message, self._path, self._lines + before.count("\n") + 1)
