"""Reads files of word vectors, streamed, keeping only the rows that are wanted.

A text file has a row per word: the word, then its numbers, set apart by spaces or tabs.
The words may hold spaces themselves; a header with the number of rows and the size may
come first. Binary word2vec files are read too, fastText ``.bin`` files through gensim.
"""

import itertools
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from bilstm_crf.corpus.binary_vectors import FASTTEXT_MAGIC, read_fasttext, read_word2vec
from bilstm_crf.corpus.text_source import read_bytes
from bilstm_crf.corpus.vector_rows import RowCollector, WordVectors, parse_numbers
from bilstm_crf.errors import DataError

__all__ = ["WordVectors", "read_vectors"]

_log = logging.getLogger(__name__)

_CHUNK_BYTES = 1 << 22
_BOM = b"\xef\xbb\xbf"
_SAMPLE_ROWS = 200


def read_vectors(
    path: Path,
    *,
    wanted: Callable[[str], bool] | None = None,
    size: int | None = None,
    encoding: str = "utf-8",
) -> WordVectors:
    """Read word vectors from a text or binary file, gzipped or not.

    Of a word given twice the first row counts. Words with bytes that are not text are
    left out and counted.

    Args:
        path: the file.
        wanted: tells which words to keep; by default all.
        size: length the vectors must have, if that is known.
        encoding: text encoding of the words.

    Raises:
        DataError: no such file; rows of another length or with something that is no
            number (names the line); the vectors have not ``size`` numbers.
        MissingExtraError: a fastText ``.bin`` file and gensim is not installed.
    """
    chunks = read_bytes(path, _CHUNK_BYTES)
    head = next(chunks, b"")
    if head.startswith(FASTTEXT_MAGIC):
        words, matrix = read_fasttext(path, wanted)
        _check_size(matrix.shape[1], size, path)
        return WordVectors(words, matrix, [])
    chunks = itertools.chain([head], chunks)
    reader = RowCollector(path, wanted, encoding)
    if _looks_binary(head):
        for word, vector in read_word2vec(chunks, path):
            _check_size(len(vector), size, path)
            reader.add_vector(word, vector)
    else:
        _read_text(reader, _whole_lines(chunks), path, size)
    found = reader.result()
    for note in found.notes:
        _log.warning("%s: %s", path, note)
    return found


def _check_size(found: int, size: int | None, path: Path) -> None:
    if size is not None and size != found:
        raise DataError(
            f"vectors have {found} numbers, but the configured size is {size}; "
            f"set the size to {found} or leave it out",
            path,
        )


def _whole_lines(chunks: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield lists of lines, without their line feeds."""
    rest = b""
    for number, data in enumerate(chunks):
        lines = (rest + data if number else data.removeprefix(_BOM)).split(b"\n")
        rest = lines.pop()
        yield lines
    if rest:
        yield [rest]


def _read_text(
    reader: RowCollector, blocks: Iterator[list[bytes]], path: Path, size: int | None
) -> None:
    """Read all rows of a text file."""
    first: list[bytes] = []
    while len(first) < _SAMPLE_ROWS and (more := next(blocks, None)) is not None:
        first += more
    announced = _header(first)
    number = 1
    if announced:
        first, number = first[1:], 2
    found = announced[1] if announced else _row_size(first)
    if not found:
        raise DataError("no word vectors: no row has a word and numbers", path, 1)
    _check_size(found, size, path)
    reader.size = found
    while True:
        reader.add_rows(first, number)
        number += len(first)
        if (following := next(blocks, None)) is None:
            break
        first = following
    if announced and announced[0] != reader.num_rows:
        reader.notes.append(f"{announced[0]} rows announced, {reader.num_rows} read")


def _header(lines: list[bytes]) -> tuple[int, int] | None:
    """Return the numbers of a header row: it has two integers, and the next row fits it."""
    fields = lines[0].split() if lines else []
    if len(fields) != 2 or not (fields[0].isdigit() and fields[1].isdigit()):
        return None
    rows, size = int(fields[0]), int(fields[1])
    fits = size > 0 and (len(lines) == 1 or len(lines[1].split()) > size or size > 1)
    return (rows, size) if fits else None


def _looks_binary(head: bytes) -> bool:
    """Return whether a file is no text: zero bytes, or after a header a row that is no text."""
    if b"\0" in head:
        return True
    lines = head.split(b"\n", 2)[:2]
    if len(lines) < 2 or not _header(lines[:1]):
        return False
    if any(byte < 0x20 and byte not in b"\t\r" for byte in lines[1]):
        return True
    try:
        lines[1].decode("utf-8")
    except UnicodeDecodeError:
        return parse_numbers(lines[1].partition(b" ")[2]) is None
    return False


def _row_size(lines: list[bytes]) -> int:
    """Return how many numbers most of the first rows have after a word without spaces."""
    sizes = Counter(len(line.split()) - 1 for line in lines[:_SAMPLE_ROWS] if line.strip())
    return max(sizes, key=lambda one: (sizes[one], one), default=0)
