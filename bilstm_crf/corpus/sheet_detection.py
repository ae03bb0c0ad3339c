"""Telling an export of a spreadsheet from other columns: commas, quotes, numbers of sentences.

A file is only taken for one on evidence that columns set apart by tabs or spaces cannot give:
tokens may be commas and quotes themselves.
"""

import re
from collections.abc import Sequence

from bilstm_crf.corpus.layout import BLANK
from bilstm_crf.corpus.quoted_cells import QUOTE, quote_fault, split_quoted
from bilstm_crf.corpus.schemes import OUTSIDE, is_entity_label

SHEET_DELIMITERS = (",", ";")
"""What is looked for; any other is given by ``data.delimiter``."""

TOKEN_NAMES = {"token", "tokens", "word", "words", "form", "text", "char", "surface"}
"""Names, in lower case, of a column of tokens."""

_OTHER_NAME = re.compile(r"(ne|ner|iob|bio|label|tag|pos|upos|xpos|lemma|sent).*", re.I)
_SENTENCE_NAME = re.compile(
    r"sent(ence)?s?[ _.-]?(#|id|ids|idx|index|no|nr|num|number|counter)?\.?", re.I
)
_SENTENCE_VALUE = re.compile(r"sent(ence)?s?[ _.:#-]*[0-9]+", re.I)
_MOST_LINES = 2000
_LEAST_FIT = 0.95
"""Share of the rows that must have the form; the others are faults, named when they are read."""


def sheet_delimiter(lines: Sequence[str], *, labelled: bool) -> str:
    """Return the delimiter of an export of a spreadsheet, empty if the lines are none.

    The first row must name columns, of tokens and of something else, and most rows be as wide; or
    nearly all rows be equally wide without a tab, and a column hold labels throughout. Without
    labels and names, no cell may hold white space, nor all be numbers.

    Args:
        lines: the beginning of a file.
        labelled: whether there must be labels.
    """
    rows = [line for line in lines[:_MOST_LINES] if line.strip(BLANK + "".join(SHEET_DELIMITERS))]
    found = (one for one in SHEET_DELIMITERS if rows and _is_sheet(rows, one, labelled))
    return next(found, "")


def _is_sheet(lines: Sequence[str], delimiter: str, labelled: bool) -> bool:
    rows = [split_quoted(line, delimiter) for line in lines]
    width = len(rows[0])
    rows = [row for row in rows if len(row) == width]
    names = [name.strip(BLANK).lower() for name in rows[0]]
    has_token_name = not TOKEN_NAMES.isdisjoint(names)
    if has_token_name and any(map(_OTHER_NAME.fullmatch, names)):
        return 2 * len(rows) > len(lines)
    if width < 2 or len(rows) < _LEAST_FIT * len(lines) or any("\t" in line for line in lines):
        return False
    if has_token_name:
        return len(rows) > 1
    if any(_are_labels(values) for values in zip(*(rows[1:] or rows), strict=True)):
        return True
    text = "".join(lines)
    return not labelled and len(rows) > 2 and " " not in text and any(map(str.isalpha, text))


def _are_labels(values: Sequence[str]) -> bool:
    labels = sum(value == OUTSIDE or is_entity_label(value) for value in values)
    return labels >= _LEAST_FIT * len(values)


def has_quoted_cells(lines: Sequence[str], delimiter: str) -> bool:
    """Return whether quotes in a file stand about cells and are no characters like others.

    Where nothing tells, they do unless tabs or spaces set the columns apart: there a quote is
    a token, and only doubled quotes inside quotes show a spreadsheet.
    """
    if delimiter == " " or len(delimiter) > 1:
        return False
    with_quote = [line for line in lines if QUOTE in line]
    faulty = sum(quote_fault(line, delimiter) != "" for line in with_quote)
    if delimiter != "\t":
        return 2 * faulty <= len(with_quote)
    if faulty or not any(3 * QUOTE in line for line in with_quote):
        return False
    cells = (cell for line in with_quote for cell in line.split(delimiter))
    return not any(QUOTE in cell and not cell.startswith(QUOTE) for cell in cells)


def sentence_column(names: Sequence[str], rows: Sequence[Sequence[str]]) -> int | None:
    """Return the column that numbers the sentences, or None.

    Its name or each of its values says so (``Sentence #``, ``Sentence: 12``), and it does not
    change in every row.

    Args:
        names: the names of the columns, empty without a header.
        rows: a sample, all of them as wide as the header.
    """
    width = min(map(len, rows), default=len(names))
    for number in range(width):
        values = [value for row in rows if (value := row[number].strip(BLANK))]
        if number < len(names):
            is_it = _SENTENCE_NAME.fullmatch(names[number].strip(BLANK)) is not None
        else:
            is_it = bool(values) and all(map(_SENTENCE_VALUE.fullmatch, values))
        if is_it and (len(rows) < 3 or len(set(values)) < len(rows)):
            return number
    return None
