"""Finds the tokens in a block of lines and keeps all else, so that the lines can be written again.

Most blocks are plain: then the tokens are taken by a few calls for the whole block. Blocks with
stray carriage returns, comments, document marks, numbered tokens or extra columns are read line
by line, as :mod:`bilstm_crf.corpus.layout` describes them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.corpus.data_section import ReaderSettings
from bilstm_crf.corpus.layout import BLANK, DOCUMENT_MARK, Layout, ends_sentence, opens_document
from bilstm_crf.corpus.malformed import REPLACEMENT_TOKEN
from bilstm_crf.errors import DataError
from bilstm_crf.prediction.sheet_blocks import layout_of

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_BLANK = BLANK.encode()
_UNUSUAL = (b"\r", b"\f", b"\v", DOCUMENT_MARK.encode())
_HASH_LINE = re.compile(r"^#.*$", re.MULTILINE)
_NOT_A_TOKEN = re.compile("[0-9]+[-.][0-9]+")


@dataclass(frozen=True)
class TokenLines:
    """The lines of a block and the tokens in them.

    Attributes:
        lines: what stands before the line ends; the last one has none.
        line_ends: the line end of all lines, or that of each.
        heads: for each line its token, or the whole line if it holds none.
        tokens: the tokens as UTF-8.
        places: the line of each token.
        starts: (sentences + 1,) where each sentence begins among the tokens.
        columns: values of extra columns by name, one a token.
        first_line: number of the block's first line in the file.
        mark: byte order mark before the first line.
        header: the line that names the columns, or None.
        documents: tokens that begin a document.
    """

    lines: Sequence[bytes]
    line_ends: bytes | Sequence[bytes]
    heads: Sequence[bytes]
    tokens: Sequence[bytes]
    places: NDArray[np.int64]
    starts: NDArray[np.int64]
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    first_line: int = 1
    mark: bytes = b""
    header: int | None = None
    documents: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def where(self, token: int) -> int:
        """Return the line of a token in the file."""
        return self.first_line + int(self.places[token])


class TokenLineReader:
    """Reads one file block by block; its columns are found from the first block.

    Args:
        path: the file, for messages.
        settings: what is known of its columns.
    """

    def __init__(self, path: Path, settings: ReaderSettings):
        self._path, self._settings = path, settings
        self._layout: Layout | None = None
        self._token: re.Pattern[bytes] | None = None
        self._header_expected = False
        self._next_line = 1
        self._sentence_number = ""
        self._opens_document = True

    @property
    def delimiter(self) -> str:
        """What stands between columns: the file's own delimiter, or a tab if it has one column."""
        layout = self._layout
        return "\t" if layout is None or layout.width < 2 else layout.delimiter

    @property
    def is_sheet(self) -> bool:
        """Whether the file is a sheet, whose sentences need not end at empty lines."""
        return self._layout is not None and self._layout.is_sheet

    def cell(self, value: str) -> str:
        """Return a value as it stands in a row of the file."""
        return value if self._layout is None else self._layout.join([value])

    def read(self, block: bytes) -> TokenLines:
        """Find the tokens of the file's next whole sentences.

        Raises:
            DataError: a row has no column of tokens, lacks an extra column, or has a quoted cell
                without end.
        """
        mark = b""
        if self._layout is None:
            if block.startswith(BYTE_ORDER_MARK):
                mark, block = BYTE_ORDER_MARK, block[len(BYTE_ORDER_MARK) :]
            self._layout = self._detect(block)
        first_line = self._next_line
        self._next_line += block.count(b"\n")
        line_end, plain = b"\n", block
        if b"\r" in block and block.count(b"\r") == block.count(b"\r\n") == block.count(b"\n"):
            line_end, plain = b"\r\n", block.replace(b"\r\n", b"\n")
        found = self._read_whole(plain, line_end) if self._is_plain(plain, self._layout) else None
        found = found or self._read_by_line(block, first_line, self._layout)
        return replace(found, first_line=first_line, mark=mark)

    def finish(self) -> TokenLines | None:
        """Return what is held back once all blocks are read: nothing."""
        return None

    def _detect(self, block: bytes) -> Layout:
        try:
            layout = layout_of(block, self._settings, self._path)
        except DataError as error:
            if not self._settings.features:
                raise
            needed = ", ".join(f"{n!r} ({c})" for n, c in self._settings.features.items())
            raise DataError(f"{error}; the model needs the extra columns {needed}") from None
        self._header_expected = layout.has_header
        if layout.comments in ("auto", "none"):
            self._token = _token_pattern(layout)
        return layout

    def _is_plain(self, block: bytes, layout: Layout) -> bool:
        if self._token is None or self._header_expected or self._settings.sentence_end:
            return False
        if any(map(block.__contains__, _UNUSUAL)):
            return False
        if layout.comments == "none" or not (block[:1] == b"#" or b"\n#" in block):
            return True
        text = block.decode("utf-8", "surrogateescape")
        return not any(layout.is_comment(line) for line in _HASH_LINE.findall(text))

    def _read_whole(self, block: bytes, line_end: bytes) -> TokenLines | None:
        lines = block.split(b"\n")
        if b"\t" not in block and b" " not in block:
            heads = each = lines
        else:
            each = [] if self._token is None else self._token.findall(block)
            heads = [token or line for token, line in zip(each, lines, strict=True)]
        has_token = np.fromiter(map(len, each), dtype=np.int64, count=len(each)) > 0
        places = np.flatnonzero(has_token)
        tokens = [*filter(None, each)]
        if each is not lines and len(tokens) != sum(map(bool, map(_strip, lines))):
            return None  # a row without a token
        starts = _starts(np.cumsum(~has_token, dtype=np.int64)[places])
        opens = starts[:1] if self._opens_document and tokens else starts[:0]
        self._opens_document = self._opens_document and not tokens
        return TokenLines(lines, line_end, heads, tokens, places, starts, documents=opens)

    def _read_by_line(self, block: bytes, first_line: int, layout: Layout) -> TokenLines:
        whole = block.split(b"\n")
        lines = [line.rstrip(b"\r") for line in whole]
        ends = [line[len(stripped) :] + b"\n" for line, stripped in zip(whole, lines, strict=True)]
        ends[-1] = ends[-1].removesuffix(b"\n")
        heads, tokens, places, sentences = list(lines), list[bytes](), list[int](), list[int]()
        documents: list[int] = []
        values: dict[str, list[str]] = {name: [] for name in layout.features}
        sentence, header = 0, None
        for place, line in enumerate(lines):
            text = line.decode("utf-8", "surrogateescape")
            before_header = self._header_expected
            columns = self._columns(text, layout)
            if columns is None:
                sentence += 1
                if before_header and not self._header_expected:
                    header, heads[place] = place, layout.names[layout.token].encode()
                elif layout.is_sheet and layout.is_blank(text):
                    heads[place] = b""
            elif columns:
                if fault := layout.quote_fault(text):
                    raise DataError(fault, self._path, first_line + place)
                number = layout.sentence_number(columns)
                if number not in ("", self._sentence_number):
                    self._sentence_number = number
                    sentence += 1
                token, extra = self._row(columns, first_line + place, layout)
                if self._opens_document:
                    documents.append(len(tokens))
                    self._opens_document = False
                heads[place] = token.encode("utf-8", "surrogateescape")
                tokens.append(heads[place] or REPLACEMENT_TOKEN.encode())
                places.append(place)
                sentences.append(sentence)
                sentence += ends_sentence(columns, self._settings.sentence_end)
                for name, value in extra.items():
                    values[name].append(value)
        numbers = np.array(sentences, dtype=np.int64)
        at = np.array(places, dtype=np.int64)
        opens = np.array(documents, dtype=np.int64)
        return TokenLines(
            lines, ends, heads, tokens, at, _starts(numbers), values, header=header, documents=opens
        )

    def _columns(self, text: str, layout: Layout) -> list[str] | None:
        """Return the columns of a row, none for a line to pass over, None for a sentence's end."""
        if layout.is_blank(text):
            return None
        if layout.is_comment(text):
            if not opens_document(text):
                return []
            self._opens_document = True
            return None
        if self._header_expected:
            self._header_expected = False
            return None
        columns = layout.split(text)
        marks = columns[0], columns[min(layout.token, len(columns) - 1)]
        if DOCUMENT_MARK in marks or text.startswith((DOCUMENT_MARK + " ", DOCUMENT_MARK + "\t")):
            self._opens_document = True
            return None
        return [] if layout.has_index and _NOT_A_TOKEN.fullmatch(columns[0]) else columns

    def _row(self, columns: list[str], line: int, layout: Layout) -> tuple[str, dict[str, str]]:
        """Return the token of a row and the values of its extra columns."""
        needed = {"token": layout.token, **layout.features}
        for name, number in needed.items():
            if number >= len(columns):
                what = "tokens are" if name == "token" else f"the model's {name!r} is"
                s = "" if len(columns) == 1 else "s"
                message = f"{len(columns)} column{s}, but {what} in column {number} (from 0)"
                raise DataError(message, self._path, line)
        return columns[layout.token], {n: columns[c] for n, c in layout.features.items()}


def wrong_byte(found: TokenLines, path: Path) -> DataError:
    """Return what to tell of the first token that is not UTF-8; one of them must be so."""
    for number, token in enumerate(found.tokens):
        try:
            token.decode()
        except UnicodeDecodeError as error:
            message = (
                f"byte 0x{token[error.start]:02x} in the token is not UTF-8; name the "
                "file's own encoding with --set data.encoding=NAME, or convert the file"
            )
            return DataError(message, path, found.where(number))
    raise ValueError("every token is UTF-8")


def _strip(line: bytes) -> bytes:
    return line.strip(_BLANK)


def _starts(sentences: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each sentence begins, from a number for each token that its sentence shares."""
    if not len(sentences):
        return np.zeros(1, dtype=np.int64)
    changes = np.flatnonzero(np.diff(sentences)) + 1
    return np.concatenate([[0], changes, [len(sentences)]])


def _token_pattern(layout: Layout) -> re.Pattern[bytes] | None:
    """Return what finds the token of each line, empty where there is none; None if nothing can."""
    if layout.features or layout.has_index or layout.is_sheet:
        return None
    if layout.delimiter not in ("\t", " "):
        return None
    before = b"{%d}" % layout.token
    if layout.delimiter == "\t":
        return re.compile(rb"^(?:(?:[^\t\n]*\t)" + before + rb"([^\t\n]*))?", re.MULTILINE)
    pattern = rb"^[ \t]*(?:(?:[^ \t\n]+[ \t]+)" + before + rb"([^ \t\n]+))?"
    return re.compile(pattern, re.MULTILINE)
