"""From files to sentences: a table of formats, and which format a file is in."""

import itertools
import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from bilstm_crf.corpus.columns import read_columns
from bilstm_crf.corpus.data_section import (
    DataSection,
    ReaderSettings,
    expand_paths,
)
from bilstm_crf.corpus.json_documents import JsonDocuments
from bilstm_crf.corpus.layout import BLANK, Layout
from bilstm_crf.corpus.layout_detection import detect_layout
from bilstm_crf.corpus.malformed import Malformed, MalformedRows
from bilstm_crf.corpus.plain_text import read_plain_text
from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.corpus.sheet_detection import sheet_delimiter
from bilstm_crf.corpus.text_source import read_text
from bilstm_crf.errors import DataError

__all__ = [
    "READERS",
    "DataSection",
    "ReaderSettings",
    "ReadingInput",
    "detect_format",
    "expand_paths",
    "inspect_file",
    "read_sentences",
    "read_split",
]

# What can follow the first brace or bracket of a JSON document; a token could not.
_JSON_START = re.compile(r"\s*(?:\{\s*[\"}]|\[\s*[\[{\"\]])")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ReadingInput:
    """What a reader gets.

    Attributes:
        head: the beginning of the text, whole lines, for detection.
        chunks: the whole text, in pieces of whole lines.
        path: the file, for messages.
        settings: how to read.
        malformed: takes the places that do not fit.
        labelled: whether labels are needed.
        describe: called with a phrase on how the file is read.
    """

    head: str
    chunks: Iterable[str]
    path: Path
    settings: ReaderSettings
    malformed: MalformedRows
    labelled: bool
    describe: Callable[[str], None]


def _read_conll(source: ReadingInput) -> Iterator[Sentence]:
    settings = source.settings
    layout = detect_layout(source.head, settings, source.path, labelled=source.labelled)
    source.describe(layout.describe())
    return read_columns(
        source.chunks,
        layout,
        str(source.path),
        source.malformed,
        labelled=source.labelled,
        sentence_end=settings.sentence_end,
    )


def _read_conllu(source: ReadingInput) -> Iterator[Sentence]:
    settings = _conllu_settings(source.settings, source.head)
    return _read_conll(replace(source, settings=settings))


def _conllu_settings(settings: ReaderSettings, head: str) -> ReaderSettings:
    has_names = "global.columns" in head[:4096]
    is_given = settings.token_column != "auto" or has_names
    token_column = settings.token_column if is_given else 1
    return replace(settings, delimiter="tab", token_column=token_column)


def _json_documents(source: ReadingInput) -> JsonDocuments:
    settings = source.settings
    return JsonDocuments(
        source.path,
        source.malformed,
        labelled=source.labelled,
        unit=settings.tokens,
        split=settings.split_sentences,
    )


def _read_json(source: ReadingInput) -> Iterator[Sentence]:
    return _json_documents(source).read_array(source.chunks)


def _read_jsonl(source: ReadingInput) -> Iterator[Sentence]:
    return _json_documents(source).read_lines(source.chunks)


def _read_text(source: ReadingInput) -> Iterator[Sentence]:
    if source.labelled:
        raise DataError("running text has no labels; labelled data is needed", source.path)
    settings = source.settings
    return read_plain_text(
        source.chunks, str(source.path), unit=settings.tokens, split=settings.split_sentences
    )


READERS: dict[str, Callable[[ReadingInput], Iterator[Sentence]]] = {
    "conll": _read_conll,
    "conllu": _read_conllu,
    "json": _read_json,
    "jsonl": _read_jsonl,
    "text": _read_text,
}
"""Format name -> reader."""


def detect_format(head: str, *, labelled: bool = True) -> str:
    """Return the format of a text from its beginning.

    JSON begins with a brace or bracket. Otherwise labelled data is in columns, and
    unlabelled data is running text if its lines hold several words without tabs, their
    number changing from line to line, and they are no sheet of commas or semicolons.
    """
    lines = [line for line in head.split("\n", 2000)[:2000] if line.strip(BLANK)]
    if _JSON_START.match(head):
        return _json_or_jsonl(lines)
    if labelled or not lines:
        return "conll"
    rows = [line for line in lines if not line.startswith("#")] or lines
    if sheet_delimiter(rows, labelled=False):
        return "conll"
    widths = [len(line.split()) for line in rows if "\t" not in line]
    varied = len(set(widths)) > 1 and sum(widths) > 2 * len(widths)
    return "text" if len(widths) == len(rows) and (varied or min(widths) > 9) else "conll"


def _json_or_jsonl(lines: list[str]) -> str:
    """Return jsonl if the first line is a document by itself."""
    try:
        value = json.loads(lines[0])
    except ValueError:
        return "json"
    is_pair = isinstance(value, list) and len(value) == 2 and isinstance(value[0], str)
    return "jsonl" if isinstance(value, dict) or is_pair else "json"


def read_sentences(
    path: Path,
    settings: ReaderSettings | None = None,
    *,
    labelled: bool = True,
    listener: Callable[[Malformed], None] | None = None,
    describe: Callable[[str], None] | None = None,
) -> Iterator[Sentence]:
    """Yield the sentences of a file, in bounded memory (JSON arrays excepted).

    Args:
        path: the file, or ``-`` for standard input; may be gzipped.
        settings: how to read; by default all is detected and said in the log.
        labelled: whether labels are needed; without, ``Sentence.labels`` is None.
        listener: called with each malformed place that is repaired.
        describe: called once with a phrase on how the file is read, instead of the log.

    Raises:
        DataError: the file cannot be read, or a place in it is malformed and
            ``settings.on_malformed`` is ``error``; names file and line.
    """
    settings = settings or ReaderSettings()
    encodings: list[str] = []
    chunks = read_text(path, settings.encoding, tell_encoding=encodings.append)
    head = next(chunks, "")
    name: str = settings.format
    if name == "auto":
        name = detect_format(head, labelled=labelled)
    told = " in ".join([name, *encodings])

    def say(phrase: str) -> None:
        _log.info("%s: read as %s", path, phrase)

    tell = describe or say
    malformed = MalformedRows(path, settings.on_malformed, listener)
    source = ReadingInput(
        head=head,
        chunks=itertools.chain([head], chunks),
        path=path,
        settings=settings,
        malformed=malformed,
        labelled=labelled,
        describe=lambda phrase: tell(f"{told}: {phrase}"),
    )
    if name not in ("conll", "conllu"):
        tell(told)
    yield from READERS[name](source)
    malformed.warn()


def inspect_file(
    path: Path, settings: ReaderSettings | None = None, *, labelled: bool = True
) -> tuple[str, Layout | None]:
    """Return the format of a file and, if it is in columns, their layout.

    Raises:
        DataError: the file cannot be read.
    """
    settings = settings or ReaderSettings()
    head = next(read_text(path, settings.encoding), "")
    name: str = settings.format
    if name == "auto":
        name = detect_format(head, labelled=labelled)
    if name == "conllu":
        settings = _conllu_settings(settings, head)
    is_columns = name in ("conll", "conllu")
    layout = detect_layout(head, settings, path, labelled=labelled) if is_columns else None
    return name, layout


def read_split(
    paths: Iterable[Path], settings: ReaderSettings | None = None, *, labelled: bool = True
) -> Iterator[Sentence]:
    """Yield the sentences of several files, one after the other."""
    for path in paths:
        yield from read_sentences(path, settings, labelled=labelled)
