"""The rows of a word vectors file: those wanted are kept, odd ones counted or named."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.errors import DataError


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


class RowCollector:
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
        numbers = parse_numbers(b" ".join(rows))
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
            message = (
                f"{len(fields)} numbers where {self.size} are needed; a file of word vectors has a "
                "word and its numbers on each line"
            )
            raise DataError(message, self._path, place)
        for field in fields:
            value = parse_numbers(field)
            if value is None or value.size != 1:
                text = field.decode(self._encoding, "replace")
                hint = "; decimals need a point, not a comma" if "," in text else ""
                raise DataError(f"{text!r} is not a number{hint}", self._path, place)


def parse_numbers(text: bytes) -> NDArray[np.float32] | None:
    """Parse numbers set apart by spaces, or return None if something else is among them."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(text, dtype=np.float32, sep=" ")
        except (DeprecationWarning, ValueError):
            return None
