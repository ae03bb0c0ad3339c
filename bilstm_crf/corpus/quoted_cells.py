"""Rows of cells as spreadsheets write them: a cell may stand in quotes, doubled inside (RFC 4180).

A row is a line: a cell with a line end in it is a fault, for no token and no label has one.
"""

import csv
import io
from collections.abc import Sequence

QUOTE = '"'


def split_quoted(line: str, delimiter: str) -> list[str]:
    """Return the cells of a line, quotes undone; of a faulty line, as if there were no quotes.

    Args:
        line: a row without its line end.
        delimiter: one character.
    """
    if QUOTE not in line:
        return line.split(delimiter)
    try:
        return _parse(line, delimiter)
    except csv.Error:
        return line.split(delimiter)


def quote_fault(line: str, delimiter: str) -> str:
    """Return what is wrong with the quotes of a line, empty if nothing is."""
    if QUOTE not in line:
        return ""
    try:
        _parse(line, delimiter)
    except csv.Error as error:
        if "unexpected end" in str(error):
            return (
                "a quoted cell does not end in its line: write the cell in one line, for no token "
                "or label holds a line end, or set data.quotes: false if a quote is a character "
                "like others"
            )
        return f"cells in quotes are malformed ({error}); data.quotes: false takes them as they are"
    return ""


def join_quoted(cells: Sequence[str], delimiter: str) -> str:
    """Return a line of cells, quoted where they need it."""
    line = io.StringIO()
    csv.writer(line, delimiter=delimiter, lineterminator="").writerow(cells)
    return line.getvalue()


def _parse(line: str, delimiter: str) -> list[str]:
    return next(csv.reader([line], delimiter=delimiter, strict=True))
