"""What the columns of a file are: delimiter, width, tokens, labels, header, comments."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from bilstm_crf.corpus.quoted_cells import join_quoted, quote_fault, split_quoted
from bilstm_crf.corpus.schemes import OUTSIDE, is_entity_label

DOCUMENT_MARK = "-DOCSTART-"
BLANK = " \t\r\f\v"
"""The characters that a blank line may hold; no other white space makes a line blank."""

_KEY_AND_VALUE = re.compile(r"#+ ?\w[\w:. -]* = ")
_OPENS_DOCUMENT = re.compile(r"#+ ?(newdoc\b|([\w.-]+:)?document_id *=)")
_SPACES = re.compile("[ \t]+")


def opens_document(comment: str) -> bool:
    """Return whether a comment begins a document: ``# newdoc``, ``# hipe2022:document_id = x``."""
    return _OPENS_DOCUMENT.match(comment) is not None


def ends_sentence(columns: Sequence[str], flag: str) -> bool:
    """Return whether the last column of a row holds the flag of a sentence's end."""
    return bool(flag) and flag in re.split("[|,]", columns[-1].strip(BLANK))


@dataclass(frozen=True)
class Layout:
    """The columns of one file.

    Attributes:
        delimiter: the character between columns; a space stands for runs of spaces and tabs.
        width: number of columns of a row.
        token: column of the tokens.
        label: column of the labels, or None where there are none.
        label_key: if not empty, labels are the values of this key in ``label``, a
            column of ``key=value`` pairs joined by ``|``.
        outside: the outside label in the file.
        bare_types: labels are entity types without a prefix.
        has_index: column 0 numbers the tokens; rows with ranges (1-2) and empty nodes
            (1.1) are no tokens.
        names: the columns' names from a header, else empty.
        has_header: the first row of the file is the header.
        comments: prefix of comment lines; ``auto``: lines with ``#`` that are no rows;
            ``none``.
        features: extra columns by name.
        quotes: cells may stand in quotes, as spreadsheets write them.
        sentence: column that numbers the sentences, or None: one begins where the column
            has another value than the last that was not empty.
    """

    delimiter: str
    width: int
    token: int = 0
    label: int | None = None
    label_key: str = ""
    outside: str = OUTSIDE
    bare_types: bool = False
    has_index: bool = False
    names: tuple[str, ...] = ()
    has_header: bool = False
    comments: str = "auto"
    features: dict[str, int] = field(default_factory=dict)
    quotes: bool = False
    sentence: int | None = None

    @property
    def is_sheet(self) -> bool:
        """Whether rows can be blank, or end a sentence, though the line is not empty."""
        return self.quotes or self.sentence is not None

    def is_blank(self, line: str) -> bool:
        """Return whether a line is empty or, in a sheet, all of its cells are."""
        return not line.strip(BLANK + self.delimiter if self.is_sheet else BLANK)

    def split(self, line: str) -> list[str]:
        """Return the columns of a line, empty ones past the width dropped."""
        if self.delimiter == " ":
            return _SPACES.split(line.strip(BLANK))
        columns = (split_quoted if self.quotes else str.split)(line, self.delimiter)
        while len(columns) > self.width and not columns[-1]:
            columns.pop()
        return [column.strip(BLANK) for column in columns] if self.width == 1 else columns

    def join(self, columns: Sequence[str]) -> str:
        """Return columns as a line; the reverse of ``split``."""
        return join_quoted(columns, self.delimiter) if self.quotes else self.delimiter.join(columns)

    def quote_fault(self, line: str) -> str:
        """Return what is wrong with the quotes of a line, empty if nothing is."""
        return quote_fault(line, self.delimiter) if self.quotes else ""

    def sentence_number(self, columns: Sequence[str]) -> str:
        """Return what a row has in the column of sentence numbers, empty if nothing."""
        if self.sentence is None or self.sentence >= len(columns):
            return ""
        return columns[self.sentence].strip(BLANK)

    def could_be_label(self, text: str) -> bool:
        """Return whether a column value could be a label of this file."""
        if text == self.outside:
            return True
        if self.bare_types:
            return text != "" and not any(char in text for char in BLANK)
        return is_entity_label(text)

    def label_of(self, columns: Sequence[str]) -> str:
        """Return the label in a row, empty if it has none."""
        if self.label is None or self.label >= len(columns):
            return ""
        value = columns[self.label].strip(BLANK)
        if not self.label_key:
            return value
        pairs = (pair.partition("=") for pair in value.split("|"))
        return next((after for key, _, after in pairs if key == self.label_key), self.outside)

    def with_label(self, value: str, label: str) -> str:
        """Return the value of the label column with another label in it."""
        if not self.label_key:
            return label
        pairs = [pair for pair in value.split("|") if pair and pair != "_"]
        others = [pair for pair in pairs if pair.partition("=")[0] != self.label_key]
        return "|".join([*others, f"{self.label_key}={label}"])

    def is_comment(self, line: str) -> bool:
        """Return whether a line is a comment.

        With ``auto`` that is a line with ``#`` that is no row; in a file with a token a
        line and nothing else, one like ``# key = value``.
        """
        if self.comments == "none":
            return False
        if self.comments != "auto":
            return line.startswith(self.comments)
        if not line.startswith("#"):
            return False
        if self.width == 1:
            return _KEY_AND_VALUE.match(line) is not None
        columns = self.split(line)
        if len(columns) != self.width:
            return True
        return self.label is not None and not self.could_be_label(self.label_of(columns))

    def describe(self) -> str:
        """Return the layout as a phrase for the log."""
        delimiter = {"\t": "tab", " ": "spaces"}.get(self.delimiter, repr(self.delimiter))
        key = f" ({self.label_key}=)" if self.label_key else ""
        parts = [f"{self.width} columns by {delimiter}", f"tokens in column {self.token}"]
        parts.append("no labels" if self.label is None else f"labels in column {self.label}{key}")
        parts += ["header row"] * self.has_header + ["bare types"] * self.bare_types
        parts += ["cells in quotes"] * self.quotes
        parts += [f"sentence numbers in column {self.sentence}"] * (self.sentence is not None)
        parts += [f"outside label {self.outside!r}"] * (self.outside != OUTSIDE)
        return ", ".join(parts)
