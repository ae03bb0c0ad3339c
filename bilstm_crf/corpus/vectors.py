"""Reads files of word vectors, streamed, keeping only the rows that are wanted.

A text file has a row per word: the word, then its numbers, set apart by spaces or tabs.
The words may hold spaces themselves; a header with the number of rows and the size may
come first. Binary word2vec files are read too, fastText ``.bin`` files through gensim.
"""

import itertools
import logging
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.corpus.binary_vectors import FASTTEXT_MAGIC, read_fasttext, read_word2vec
from bilstm_crf.corpus.text_source import read_bytes
from bilstm_crf.errors import DataError

_log = logging.getLogger(__name__)

_CHUNK_BYTES = 1 << 22
_BOM = b"\xef\xbb\xbf"
_SAMPLE_ROWS = 200


@dataclass(frozen=True)
class WordVectors:
    """Word vectors read from a file.

    Attributes:
        words: the words, in the order of the file, each once.
        matrix: float32 (words, size).
        notes: what was odd about the file, each as one sentence with a count.
    """

    words: list[str]
    matrix: NDArray[np.float32]
    notes: list[str]


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
    reader = _RowCollector(path, wanted, encoding)
    if b"\0" in head[: 1 << 16]:
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
    reader: "_RowCollector", blocks: Iterator[list[bytes]], path: Path, size: int | None
) -> None:
    """Read all rows of a text file."""
    first = next(blocks, [])
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


def _row_size(lines: list[bytes]) -> int:
    """Return how many numbers most of the first rows have after a word without spaces."""
    sizes = Counter(len(line.split()) - 1 for line in lines[:_SAMPLE_ROWS] if line.strip())
    return max(sizes, key=lambda one: (sizes[one], one), default=0)


class _RowCollector:
    """Collects the wanted rows of one file."""

    def __init__(self, path: Path, wanted: Callable[[str], bool] | None, encoding: str):
        self._path, self._wanted, self._encoding = path, wanted, encoding
        self.size = self.num_rows = 0
        self.notes: list[str] = []
        self._words: dict[str, None] = {}
        self._blocks: list[NDArray[np.float32]] = []
        self._repeated = self._undecodable = self._first_undecodable = 0

    def add_vector(self, word: bytes, vector: NDArray[np.float32]) -> None:
        """Add a row whose numbers are known."""
        self.size = len(vector)
        self.num_rows += 1
        if self._keep(word, self.num_rows):
            self._blocks.append(vector[None, :])

    def add_rows(self, lines: list[bytes], first_line: int) -> None:
        """Add the rows of text lines."""
        size = self.size
        kept: list[bytes] = []
        places: list[int] = []
        for place, line in enumerate(lines, first_line):
            line = line.rstrip()
            word, _, numbers = line.partition(b" ")
            if numbers.count(b" ") != size - 1 or not word:
                if not line:
                    continue
                word, numbers = self._split_with_care(line, place)
            self.num_rows += 1
            if self._keep(word, place):
                kept.append(numbers)
                places.append(place)
        if kept:
            self._blocks.append(self._parse(kept, places))

    def result(self) -> WordVectors:
        """Return all that was collected."""
        notes = self.notes
        if self._repeated:
            notes.append(f"{self._repeated} rows repeat a word; the first row of each counts")
        if self._undecodable:
            notes.append(
                f"{self._undecodable} rows left out: the word is not {self._encoding} "
                f"(first: line {self._first_undecodable})"
            )
        blocks = self._blocks or [np.empty((0, self.size), dtype=np.float32)]
        return WordVectors(list(self._words), np.concatenate(blocks), notes)

    def _keep(self, word: bytes, place: int) -> bool:
        try:
            text = word.decode(self._encoding)
        except UnicodeDecodeError:
            self._undecodable += 1
            self._first_undecodable = self._first_undecodable or place
            return False
        if self._wanted is not None and not self._wanted(text):
            return False
        if text in self._words:
            self._repeated += 1
            return False
        self._words[text] = None
        return True

    def _split_with_care(self, line: bytes, place: int) -> tuple[bytes, bytes]:
        """Split a row with tabs, runs of spaces or a word that holds spaces."""
        fields = line.replace(b"\t", b" ").split(b" ")
        numbers = [field for field in fields[1:] if field][-self.size :]
        found = len([field for field in fields[1:] if field])
        if found < self.size:
            s = "" if found == 1 else "s"
            message = f"{found} number{s} where {self.size} are needed"
            raise DataError(f"{message}; is the file cut off or damaged?", self._path, place)
        word = line.replace(b"\t", b" ")
        for number in reversed(numbers):
            word = word[: word.rindex(number)].rstrip(b" ")
        return word or b" ", b" ".join(numbers)

    def _parse(self, rows: list[bytes], places: list[int]) -> NDArray[np.float32]:
        numbers = _numbers(b" ".join(rows))
        if numbers is None or numbers.size != len(rows) * self.size:
            for row, place in zip(rows, places, strict=True):
                self._check_numbers(row.split(), place)
            raise DataError("rows cannot be read as numbers", self._path, places[0])
        if not np.isfinite(numbers).all():
            at = int(np.argmin(np.isfinite(numbers))) // self.size
            raise DataError("a number is not finite", self._path, places[at])
        return numbers.reshape(len(rows), self.size)

    def _check_numbers(self, fields: list[bytes], place: int) -> None:
        if len(fields) != self.size:
            message = f"{len(fields)} numbers where {self.size} are needed"
            raise DataError(message, self._path, place)
        for field in fields:
            value = _numbers(field)
            if value is None or value.size != 1:
                text = field.decode(self._encoding, "replace")
                hint = "; decimals need a point, not a comma" if "," in text else ""
                raise DataError(f"{text!r} is not a number{hint}", self._path, place)


def _numbers(text: bytes) -> NDArray[np.float32] | None:
    """Parse numbers set apart by spaces, or return None if something else is among them."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(text, dtype=np.float32, sep=" ")
        except (DeprecationWarning, ValueError):
            return None
