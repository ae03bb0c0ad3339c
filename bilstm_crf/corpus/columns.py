"""Reads files with a token a line, in columns, sentences set apart by blank lines.

Most sentences take the fast way: the whole block is split at once and its columns are
slices of one list. A block with anything out of the ordinary (comments, document marks,
blank-looking lines, labels not met before, rows that do not fit) is read row by row, and so
is a sheet, where quotes stand about cells or a column numbers the sentences.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from bilstm_crf.corpus.layout import BLANK, DOCUMENT_MARK, Layout, ends_sentence, opens_document
from bilstm_crf.corpus.malformed import REPLACEMENT_TOKEN, MalformedRows
from bilstm_crf.corpus.schemes import OUTSIDE, PREFIXES
from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.corpus.sheet_detection import SHEET_DELIMITERS

_BLANK_LINE = re.compile(f"^[{BLANK}]+$", re.MULTILINE)
_SPACE_AT_AN_END = re.compile(f"^[{BLANK}]|[{BLANK}]$", re.MULTILINE)
_SEVERAL_SPACES = re.compile(" {2,}")
_NOT_A_TOKEN = re.compile(r"[0-9]+[-.][0-9]+")


def read_columns(
    chunks: Iterable[str],
    layout: Layout,
    path: str,
    malformed: MalformedRows,
    *,
    labelled: bool = True,
    sentence_end: str = "",
) -> Iterator[Sentence]:
    """Yield the sentences of a columns file.

    Args:
        chunks: the text, in pieces of whole lines.
        layout: what the columns are.
        path: the file, for ``Sentence.path``.
        malformed: takes the rows that do not fit.
        labelled: whether to read labels; without, only the column of the tokens must be there.
        sentence_end: a flag in the last column that ends a sentence, or empty.

    Raises:
        DataError: from ``malformed``, for the first row that does not fit.
    """
    reader = _ColumnsReader(layout, path, malformed, labelled, sentence_end)
    if layout.is_sheet:
        yield from reader.sheet(_numbered_lines(chunks))
        return
    header_expected = layout.has_header
    for line, block in _blocks(chunks):
        while header_expected and block:
            first, _, block = block.partition("\n")
            line, header_expected = line + 1, layout.is_comment(first)
        yield from reader.sentences(block, line)


def _numbered_lines(chunks: Iterable[str]) -> Iterator[tuple[int, str]]:
    lines = (line for chunk in chunks for line in chunk.removesuffix("\n").split("\n"))
    return enumerate(lines, 1)


def _blocks(chunks: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield stretches of lines between empty lines, with the number of their first line."""
    line = 1
    unfinished: list[str] = []
    for chunk in chunks:
        if "\n\t" in chunk or "\n " in chunk or "\n\r" in chunk or chunk[:1] in BLANK:
            chunk = _BLANK_LINE.sub("", chunk)
        if chunk.startswith("\n") and unfinished:
            chunk = unfinished.pop() + chunk
        border = chunk.rfind("\n\n") + 1
        if not border:
            unfinished.append(chunk)
            continue
        blocks = "".join([*unfinished, chunk[:border]]).split("\n\n")
        unfinished = [chunk[border:]]
        for number, block in enumerate(blocks, 1):
            lines = block.count("\n") + (2 if number < len(blocks) else 0)
            if text := block.lstrip("\n"):
                yield line + len(block) - len(text), text.rstrip("\n")
            line += lines
    block = "".join(unfinished)
    if text := block.lstrip("\n"):
        yield line + len(block) - len(text), text.rstrip("\n")


class _ColumnsReader:
    """Reads blocks of rows into sentences."""

    def __init__(
        self,
        layout: Layout,
        path: str,
        malformed: MalformedRows,
        labelled: bool,
        sentence_end: str,
    ):
        self._layout, self._path, self._malformed = layout, path, malformed
        self._label_column = layout.label if labelled else None
        self._sentence_end = sentence_end
        self._comment_start = {"auto": "#", "none": "\n"}.get(layout.comments, layout.comments)
        # Labels met so far and what they stand for; others take the slow way once.
        self._labels = {layout.outside: OUTSIDE}
        self._opens_document = True
        self._step = layout.width + 1
        self._border = f"{layout.delimiter}\n{layout.delimiter}"

    def sentences(self, block: str, line: int) -> Iterator[Sentence]:
        """Yield the sentences of a block (one, if nothing in it sets them apart)."""
        while block.startswith(self._comment_start):
            comment, _, rest = block.partition("\n")
            if not self._layout.is_comment(comment):
                break
            self._opens_document = self._opens_document or opens_document(comment)
            block, line = rest, line + 1
        if not block:
            return
        sentence = self._read_whole(block, line)
        if sentence is not None:
            yield sentence
        else:
            yield from self._read_by_row(enumerate(block.split("\n"), line))

    def sheet(self, lines: Iterator[tuple[int, str]]) -> Iterator[Sentence]:
        """Yield the sentences of numbered lines, the header among them."""
        if self._layout.has_header:
            skipped = (text for _, text in lines)
            next((text for text in skipped if not self._passes_over(text)), None)
        yield from self._read_by_row(lines)

    def _passes_over(self, text: str) -> bool:
        return self._layout.is_blank(text) or self._layout.is_comment(text)

    def _read_whole(self, block: str, line: int) -> Sentence | None:
        """Read an ordinary block as one sentence, or return None if it needs care."""
        layout, step = self._layout, self._step
        if (
            DOCUMENT_MARK in block
            or "\n" + self._comment_start in block
            or self._sentence_end
            or (layout.label_key and self._label_column is not None)
            or (layout.width == 1 and _SPACE_AT_AN_END.search(block))
        ):
            return None
        if layout.delimiter == " ":
            block = block.replace("\t", " ")
            if "  " in block:
                block = _SEVERAL_SPACES.sub(" ", block)
        # A border element of its own shows where each row ends. If there are as many as
        # rows, and every (width + 1)-th element is one, then all rows have the same width.
        flat = block.replace("\n", self._border).split(layout.delimiter)
        num_rows = block.count("\n") + 1
        borders = flat[step - 1 :: step]
        if len(flat) + 1 != num_rows * step or borders.count("\n") != num_rows - 1:
            return None
        tokens = flat[layout.token :: step]
        if "" in tokens or (layout.has_index and not self._numbered(flat[::step])):
            return None
        labels = None
        if self._label_column is not None:
            known = self._labels
            try:
                labels = tuple([known[label] for label in flat[self._label_column :: step]])
            except KeyError:
                return None
        features = {name: tuple(flat[c::step]) for name, c in layout.features.items()}
        return self._sentence(tokens, labels, range(line, line + num_rows), features)

    @staticmethod
    def _numbered(index: Sequence[str]) -> bool:
        return "".join(index).isdecimal()

    def _sentence(
        self,
        tokens: Sequence[str],
        labels: tuple[str, ...] | None,
        lines: Sequence[int],
        features: dict[str, tuple[str, ...]],
    ) -> Sentence:
        opens, self._opens_document = self._opens_document, False
        if features:
            return Sentence(
                tuple(tokens), labels, self._path, lines, features=features, opens_document=opens
            )
        return Sentence(tuple(tokens), labels, self._path, lines, opens_document=opens)

    def _read_by_row(self, lines: Iterable[tuple[int, str]]) -> Iterator[Sentence]:
        layout = self._layout
        rows: list[tuple[int, list[str], str]] = []
        sentence = ""
        for line, text in lines:
            mark = False
            if layout.is_blank(text):
                ends = True
            elif layout.is_comment(text):
                ends = mark = opens_document(text)
                if not mark:
                    continue
            else:
                columns = layout.split(text)
                mark = DOCUMENT_MARK in (columns[0], columns[min(layout.token, len(columns) - 1)])
                ends = mark
                number = layout.sentence_number(columns)
                if number not in ("", sentence):
                    sentence = number
                    if rows:
                        yield self._sentence_of(rows)
                        rows = []
            if not ends:
                if fault := layout.quote_fault(text):
                    repair = "the line cut at each delimiter"
                    self._malformed.add(line, "quotes that do not fit", fault, repair)
                if layout.has_index and _NOT_A_TOKEN.fullmatch(columns[0]):
                    continue
                rows.append((line, columns, self._check(line, columns)))
                ends = ends_sentence(columns, self._sentence_end)
            if ends and rows:
                yield self._sentence_of(rows)
                rows = []
            self._opens_document = self._opens_document or mark
        if rows:
            yield self._sentence_of(rows)

    def _sentence_of(self, rows: Sequence[tuple[int, list[str], str]]) -> Sentence:
        layout = self._layout
        lines = [line for line, _, _ in rows]
        contiguous = lines[-1] - lines[0] == len(lines) - 1
        places = range(lines[0], lines[-1] + 1) if contiguous else tuple(lines)
        labels = None if self._label_column is None else tuple([label for _, _, label in rows])
        features = {
            name: tuple([row[column] for _, row, _ in rows])
            for name, column in layout.features.items()
        }
        return self._sentence([row[layout.token] for _, row, _ in rows], labels, places, features)

    def _check(self, line: int, columns: list[str]) -> str:
        """Return the row's label, its faults reported and mended; may change ``columns``."""
        layout = self._layout
        found, width = len(columns), layout.width
        labelled = self._label_column is not None
        needed = width if labelled else layout.token + 1
        if found < needed or (found > needed and labelled):
            s = "" if found == 1 else "s"
            message = f"{found} column{s}, {needed} needed ({layout.describe()})"
            if layout.delimiter != " " and found == 1 and " " in columns[0].strip(BLANK):
                message += "; for columns set apart by spaces: data.delimiter: space"
            elif found == 1 and (one := next(filter(columns[0].count, SHEET_DELIMITERS), "")):
                message += f"; for columns set apart by {one!r}: data.delimiter: '{one}'"
            repair = "O as the label" if found < needed else "the columns by their numbers"
            self._malformed.add(line, "another number of columns", message, repair)
            columns.extend([""] * (needed - found))
        if not columns[layout.token]:
            message = f"empty token in column {layout.token}"
            self._malformed.add(line, "an empty token", message, "U+FFFD as the token")
            columns[layout.token] = REPLACEMENT_TOKEN
        for column in layout.features.values():
            columns.extend([""] * (column + 1 - len(columns)))
        if not labelled or found < needed:
            return OUTSIDE
        text = layout.label_of(columns)
        if (known := self._labels.get(text)) is not None:
            return known
        return self._new_label(line, text)

    def _new_label(self, line: int, text: str) -> str:
        """Return the label that a column value not met before stands for."""
        layout = self._layout
        if not text:
            message = f"empty label in column {layout.label}"
            self._malformed.add(line, "an empty label", message, OUTSIDE)
            return OUTSIDE
        if layout.could_be_label(text):
            label = f"I-{text}" if layout.bare_types else text
        else:
            hyphenated = f"{text[0]}-{text[2:]}"
            mendable = text[0] in PREFIXES and text[1:2] == "_" and len(text) > 2
            label = hyphenated if mendable else OUTSIDE
            message = (
                f"label {text!r} is neither {layout.outside!r} nor a prefix, a hyphen and a type "
                f"such as B-PER; other forms: labels.bare_types, labels.outside, data.label_column"
            )
            self._malformed.add(line, "a label of no known form", message, label)
            return label
        self._labels[text] = label
        return label
