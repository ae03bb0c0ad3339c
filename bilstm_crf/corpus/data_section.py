"""Where the data is and how its files are read: the settings."""

import glob
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import Field

from bilstm_crf.corpus.labels import LabelsSection
from bilstm_crf.corpus.tokenizer import TokenUnit
from bilstm_crf.errors import DataError
from bilstm_crf.section import Section

Format = Literal["auto", "conll", "conllu", "json", "jsonl", "text"]
Column = int | str


@dataclass(frozen=True)
class ReaderSettings:
    """All that a reader must know; the defaults detect everything.

    The fields are those of ``DataSection``, with ``scheme``-independent label options
    (``outside``, ``bare_types``) of ``LabelsSection``.
    """

    format: Format = "auto"
    token_column: Column = "auto"
    label_column: Column = "auto"
    delimiter: str = "auto"
    header: bool | Literal["auto"] = "auto"
    quotes: bool | Literal["auto"] = "auto"
    sentence_column: Column = "auto"
    comments: str = "auto"
    encoding: str = "utf-8"
    features: dict[str, Column] = field(default_factory=dict)
    sentence_end: str = ""
    split_sentences: bool = False
    tokens: TokenUnit = "words"
    on_malformed: Literal["error", "repair"] = "error"
    outside: str = "auto"
    bare_types: bool | Literal["auto"] = "auto"


class DataSection(Section):
    """The corpus: files of each split, and how they are read."""

    train: str | list[str] | None = None
    """Training files: one path, a list or a glob pattern; relative to the config file."""
    dev: str | list[str] | None = None
    """Development files, which choose the best epoch."""
    test: str | list[str] | None = None
    """Test files, scored once after training."""
    format: Format = "auto"
    """auto, conll (columns), conllu, json, jsonl or text (one sentence a line)."""
    token_column: Column = "auto"
    """Column of the tokens: auto, a number from 0 (negative from the end) or a header name."""
    label_column: Column = "auto"
    """Column of the labels, likewise; MISC:KEY is the value of KEY= inside column MISC."""
    delimiter: str = Field(default="auto", min_length=1)
    """auto, tab, space (runs of spaces and tabs) or the delimiter itself, such as ','."""
    quotes: bool | Literal["auto"] = "auto"
    """Whether cells may stand in quotes, doubled inside, as in the CSV of spreadsheets: auto, true
    or false."""
    sentence_column: Column = "auto"
    """Column that numbers the sentences, likewise, such as 'Sentence #'; none: blank lines only."""
    header: bool | Literal["auto"] = "auto"
    """Whether the first row names the columns: auto, true or false."""
    comments: str = Field(default="auto", min_length=1)
    """auto (lines with # that are no rows), none, or the prefix of comment lines."""
    encoding: str = "utf-8"
    """Text encoding of the files."""
    features: dict[str, Column] = Field(default_factory=dict)
    """Extra columns by name, such as {pos: 1}."""
    sentence_end: str = ""
    """Flag in the last column that ends a sentence, such as EndOfSentence; empty for none."""
    split_sentences: bool = False
    """Split each text (a line of text, a JSON document) into sentences."""
    tokens: TokenUnit = "words"
    """What running text is cut into: words, parts (words without any mark inside) or characters."""
    on_malformed: Literal["error", "repair"] = "error"
    """What becomes of a malformed row: error, or repair (a missing label is O) and count."""
    context: Literal["sentence", "document"] = "sentence"
    """What the BiLSTM reads at once: a sentence, or what fits of the document around it."""
    context_tokens: int = Field(default=256, ge=1, le=20_000)
    """With `context: document`, most tokens read at once: as many whole sentences as fit."""

    def resolve(self, base: Path) -> "DataSection":
        """Return a copy with the paths made absolute, relative ones taken from ``base``."""
        changes: dict[str, str | list[str]] = {}
        for split in ("train", "dev", "test"):
            value = getattr(self, split)
            if isinstance(value, str):
                changes[split] = _absolute(base, value)
            elif value is not None:
                changes[split] = [_absolute(base, one) for one in value]
        return self.model_copy(update=changes)

    def files(self, split: Literal["train", "dev", "test"]) -> list[Path]:
        """Return the files of a split, patterns expanded, or an empty list.

        Raises:
            DataError: a path does not exist, is a folder, or a pattern matches nothing.
        """
        value = getattr(self, split)
        if value is None:
            return []
        return expand_paths([value] if isinstance(value, str) else value, f"data.{split}")

    def reader_settings(self, labels: LabelsSection | None = None) -> ReaderSettings:
        """Return what the readers need to know."""
        labels = labels or LabelsSection()
        own = {name: getattr(self, name) for name in type(self).model_fields}
        others = ("train", "dev", "test", "context", "context_tokens")
        own = {name: value for name, value in own.items() if name not in others}
        return ReaderSettings(**own, outside=labels.outside, bare_types=labels.bare_types)


def _absolute(base: Path, path: str) -> str:
    # The last part stays as it is: the target of a link may lack the ending that names the format.
    whole = base / path
    return str(whole.parent.resolve() / whole.name)


def expand_paths(patterns: Sequence[str], purpose: str = "") -> list[Path]:
    """Return the files that paths and glob patterns name, in sorted order per pattern.

    Raises:
        DataError: a path does not exist or is a folder, or a pattern matches no file.
    """
    files: list[Path] = []
    hint = f" ({purpose})" if purpose else ""
    for pattern in patterns:
        path = Path(pattern)
        if pattern == "-" or path.is_file():
            files.append(path)
        elif path.is_dir():
            raise DataError(f"is a folder; a file or a pattern is needed{hint}", path.absolute())
        elif glob.has_magic(pattern):
            matches = sorted(Path(one) for one in glob.glob(pattern, recursive=True))
            found = [one for one in matches if one.is_file()]
            if not found:
                raise DataError(f"no file matches this pattern{hint}", path.absolute())
            files.extend(found)
        elif path.exists():
            files.append(path)
        else:
            raise DataError(f"no such file{hint}", path.absolute())
    return files
