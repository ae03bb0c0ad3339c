"""Finding the layout of a columns file from its first lines."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bilstm_crf.corpus.data_section import Column, ReaderSettings
from bilstm_crf.corpus.layout import BLANK, DOCUMENT_MARK, Layout
from bilstm_crf.corpus.schemes import OUTSIDE, is_entity_label
from bilstm_crf.corpus.sheet_detection import (
    TOKEN_NAMES,
    has_quoted_cells,
    sentence_column,
    sheet_delimiter,
)
from bilstm_crf.errors import DataError

_SAMPLE_ROWS = 20_000
_INDEX = re.compile(r"[0-9]+([-.][0-9]+)?")
_LABEL_NAME = re.compile(r"(.*[:_-])?(ne|ner|iob|bio|label|tag|entity|entities)s?\b.*", re.I)
# A word, but not one letter and a hyphen or underscore, which would be a prefix gone wrong, nor
# one with such a prefix at its end.
_TYPE = re.compile(r"(?!.[-_])[^\W\d_]\S*(?<![-_][BIESMLU])")
_LABEL_IN_LIST = re.compile(r"(?:^|\|)([^=|]+)=(?:[BIESMLU]-[^|]+|O)(?=\||$)")
_DELIMITERS = {"tab": "\t", "space": " "}


def detect_layout(
    text: str, settings: ReaderSettings, path: Path, *, labelled: bool = True
) -> Layout:
    """Find the layout of a file from its first lines; settings that are given are kept.

    Args:
        text: the beginning of the file, whole lines.
        settings: what is already known.
        path: the file, for messages.
        labelled: whether a column of labels is needed: the last is then taken for it
            even if nothing in it looks like labels, so that its first row is refused.

    Raises:
        DataError: a column that the settings name is not in the file.
    """
    lines = [line for line in text.split("\n", _SAMPLE_ROWS)[:_SAMPLE_ROWS] if line.strip(BLANK)]
    delimiter = _delimiter(text, settings, labelled)
    quotes = _has_quotes(lines, delimiter, settings)
    plain = Layout(delimiter, width=0, quotes=quotes)
    names = _global_columns(lines)
    lines = [line for line in lines if not plain.is_blank(line)]
    rows = [plain.split(line) for line in lines if not _set_aside(line, delimiter, settings)]
    widths = Counter(len(row) for row in rows)
    width = max(widths, key=lambda one: (widths[one], one), default=1)
    while delimiter != " " and width > 1 and all(row[width - 1 :] in ([""], []) for row in rows):
        width -= 1
    rows = [row for row in rows if len(row) >= width]
    if width == 1 and labelled:
        width, rows = 2, []  # so that each row is one column short
    elif width == 1 and settings.delimiter == "auto":
        delimiter = "\t"  # a token a line: spaces in a line belong to its token
    has_header = _is_header(rows, settings)
    if has_header:
        names = tuple(rows.pop(0))
    names = names[:width]
    found = _Columns(rows, width, names, settings, path)
    token, has_index = found.token()
    label, key, outside, bare = found.label(token, labelled)
    sentence = found.sentence()
    features = {name: found.number(column) for name, column in settings.features.items()}
    return Layout(
        delimiter=delimiter,
        width=width,
        token=token,
        label=label,
        label_key=key,
        outside=outside,
        bare_types=bare,
        has_index=has_index and sentence is None and delimiter in _DELIMITERS.values(),
        names=names,
        has_header=has_header,
        comments=settings.comments,
        features=features,
        quotes=quotes,
        sentence=sentence,
    )


def _delimiter(text: str, settings: ReaderSettings, labelled: bool) -> str:
    """Commas or semicolons of a sheet; tabs if most lines have one and spaces alone cut none.

    Else runs of tabs and spaces.
    """
    if settings.delimiter != "auto":
        return _DELIMITERS.get(settings.delimiter, settings.delimiter)
    lines = [line for line in text.split("\n") if line.strip(BLANK)]
    lines = [line for line in lines if not line.startswith(_no_rows(settings))] or lines
    if found := sheet_delimiter(lines, labelled=labelled):
        return found
    without_tab = [line for line in lines if "\t" not in line]
    if any(" " in line.strip(BLANK) for line in without_tab):
        return " "
    return "\t" if 2 * len(without_tab) < len(lines) else " "


def _has_quotes(lines: Sequence[str], delimiter: str, settings: ReaderSettings) -> bool:
    if settings.quotes == "auto":
        return has_quoted_cells(lines, delimiter)
    return settings.quotes and delimiter != " "


def _no_rows(settings: ReaderSettings) -> tuple[str, ...]:
    """Return beginnings of lines that are unlikely to be rows."""
    comment = {"auto": ("#",), "none": ()}.get(settings.comments, (settings.comments,))
    return (DOCUMENT_MARK, *comment)


def _set_aside(line: str, delimiter: str, settings: ReaderSettings) -> bool:
    """Return whether a line of the sample is not a row to learn from."""
    if settings.comments not in ("auto", "none") and line.startswith(settings.comments):
        return True
    if line.startswith(DOCUMENT_MARK):
        return True
    if settings.comments != "auto" or not line.startswith("#"):
        return False
    # A comment has no delimiter, or spaces about its key; KLUE's have tabs after "## ".
    return (delimiter == "\t" and "\t" not in line) or line.startswith("# ") or line[:3] == "## "


def _global_columns(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the column names that a CoNLL-U Plus file declares."""
    if lines and lines[0].startswith("# global.columns"):
        return tuple(lines[0].partition("=")[2].split())
    return ()


def _is_header(rows: Sequence[Sequence[str]], settings: ReaderSettings) -> bool:
    if settings.header != "auto":
        return settings.header and bool(rows)
    first = [name.lower() for name in rows[0]] if rows else []
    return (
        len(first) > 1
        and any(name in TOKEN_NAMES for name in first)
        and not any(is_entity_label(name) or name in ("O", "o", "0") for name in rows[0])
    )


class _Columns:
    """The sample of a file, column by column."""

    def __init__(
        self,
        rows: Sequence[Sequence[str]],
        width: int,
        names: tuple[str, ...],
        settings: ReaderSettings,
        path: Path,
    ):
        self._rows, self._width, self._names = rows, width, names
        self._settings, self._path = settings, path

    def number(self, column: Column) -> int:
        """Return the number of a column given by number or name."""
        if not self._rows and not self._names:
            return 0  # nothing will be read from it
        if isinstance(column, str):
            if column in self._names:
                return self._names.index(column)
            names = ", ".join(self._names) or "no header"
            raise DataError(f"no column is named {column!r} ({names})", self._path)
        if not -self._width <= column < self._width:
            message = f"rows have {self._width} columns, so there is no column {column}"
            raise DataError(f"{message} (columns count from 0)", self._path)
        return column % self._width

    def token(self) -> tuple[int, bool]:
        """Return the column of the tokens and whether column 0 numbers them."""
        has_index = self._width >= 3 and self._is_index()
        if self._settings.token_column != "auto":
            return self.number(self._settings.token_column), has_index
        for number, name in enumerate(self._names):
            if name.lower() in TOKEN_NAMES:
                return number, has_index
        if has_index:
            return 1, True
        first = int(self.sentence() == 0)
        second = first + 1
        if self._width > second and self._fraction(first) == 1 and self._fraction(second) < 1:
            return second, False
        return first, False

    def _is_index(self) -> bool:
        numbers = [row[0] for row in self._rows]
        if not numbers or not all(map(_INDEX.fullmatch, numbers)):
            return False
        starts = [int(re.split("[-.]", number)[0]) for number in numbers]
        steps = zip([0, *starts], starts, strict=False)
        return all(now in (before, before + 1, 0, 1) for before, now in steps)

    def sentence(self) -> int | None:
        """Return the column of sentence numbers, or None."""
        column = self._settings.sentence_column
        if column == "auto":
            return sentence_column(self._names, self._rows)
        return None if column == "none" else self.number(column)

    def label(self, token: int, needed: bool) -> tuple[int | None, str, str, bool]:
        """Return the label column, the key in it, the outside label, whether types are bare."""
        column = self._settings.label_column
        if isinstance(column, str) and ":" in column and column not in self._names:
            name, _, key = column.partition(":")
            number = self.number(int(name) if name.lstrip("-").isdigit() else name)
            return number, key, *self._style(number)
        if column != "auto":
            number = self.number(column)
            return number, "", *self._style(number)
        candidates = [one for one in range(self._width) if one != token]
        fractions = {one: self._fraction(one) for one in candidates}
        enough = max(0.5, max(fractions.values(), default=0) - 0.05)
        labels = [one for one in candidates if fractions[one] >= enough]
        # "tag" before "prev-iob", which is the label of another token.
        named = sorted(
            (match[1] is not None, one)
            for one in labels
            if one < len(self._names) and (match := _LABEL_NAME.fullmatch(self._names[one]))
        )
        if labels:
            number = named[0][1] if named else labels[-1]
            return number, "", *self._style(number)
        bare = [one for one in candidates if self._style(one)[1]]
        if bare:
            return bare[-1], "", *self._style(bare[-1])
        if candidates and (key := self._key(candidates[-1])):
            return candidates[-1], key, OUTSIDE, False
        if not needed:
            return None, "", OUTSIDE, False
        return candidates[-1], "", self._style(candidates[-1])[0], False

    def _values(self, number: int) -> Counter[str]:
        return Counter(value for row in self._rows if (value := row[number].strip(BLANK)))

    def _fraction(self, number: int) -> float:
        """Return the share of a column's values that are labels with a prefix, or outside."""
        values = self._values(number)
        outside = {OUTSIDE} if self._settings.outside == "auto" else {self._settings.outside}
        fits = sum(n for one, n in values.items() if is_entity_label(one) or one in outside)
        return fits / max(1, values.total())

    def _style(self, number: int) -> tuple[str, bool]:
        """Return the outside label of a column and whether its types are bare."""
        values = self._values(number)
        outside = self._settings.outside
        if outside == "auto":
            outside = "0" if "0" in values and OUTSIDE not in values else OUTSIDE
        bare = self._settings.bare_types
        if bare == "auto":
            types = [value for value in values if value != outside]
            bare = (
                outside in values
                and values[outside] >= values.total() / 10
                and 0 < len(types) <= 200
                and all(map(_TYPE.fullmatch, types))
            )
        return outside, bare

    def _key(self, number: int) -> str:
        """Return the key of labels in a column of key=value pairs (MISC of CoNLL-U)."""
        for row in self._rows:
            if found := _LABEL_IN_LIST.search(row[number]):
                return found[1]
        return ""
