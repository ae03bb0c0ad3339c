"""Writes a columns file with its malformed rows and labels mended, all else as it is."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from bilstm_crf.corpus.columns import read_columns
from bilstm_crf.corpus.data_section import ReaderSettings
from bilstm_crf.corpus.labels import OUTSIDE, repair_labels
from bilstm_crf.corpus.layout import Layout
from bilstm_crf.corpus.malformed import Malformed, MalformedRows
from bilstm_crf.corpus.readers import inspect_file
from bilstm_crf.corpus.text_source import read_text
from bilstm_crf.errors import DataError


def mended_text(path: Path, settings: ReaderSettings, scheme: str) -> Iterator[str]:
    """Yield the text of a columns file, line ends plain, with its faults mended.

    Args:
        path: the file.
        settings: how to read it.
        scheme: the label scheme to make the labels well-formed in.

    Raises:
        DataError: the file is not in columns, or cannot be read.
    """
    settings = replace(settings, on_malformed="repair")
    name, layout = inspect_file(path, settings)
    if layout is None:
        raise DataError(f"only files in columns can be mended in place, this is {name}", path)
    mended = _mended_rows(path, settings, layout, scheme)
    line = 0
    for chunk in read_text(path, settings.encoding):
        lines = chunk.removesuffix("\n").split("\n")
        for index in range(len(lines)):
            line += 1
            if line in mended:
                token, label = mended[line]
                lines[index] = _row(layout, lines[index], token, label)
        yield "\n".join(lines) + "\n"


def _mended_rows(
    path: Path, settings: ReaderSettings, layout: Layout, scheme: str
) -> dict[int, tuple[str, str]]:
    """Return token and label of the lines that must change."""
    malformed: set[int] = set()

    def note(place: Malformed) -> None:
        malformed.add(place.line)

    mended: dict[int, tuple[str, str]] = {}
    chunks = read_text(path, settings.encoding)
    faults = MalformedRows(path, "repair", note)
    for sentence in read_columns(chunks, layout, str(path), faults):
        labels = sentence.labels or ()
        repaired = repair_labels(labels, scheme)
        for index, line in enumerate(sentence.lines):
            if labels[index] != repaired[index] or line in malformed:
                mended[line] = (sentence.tokens[index], repaired[index])
    return mended


def _row(layout: Layout, line: str, token: str, label: str) -> str:
    """Return a row with another token and label, its other columns as they are."""
    if label == OUTSIDE:
        label = layout.outside
    elif layout.bare_types:
        label = label.partition("-")[2]
    columns = layout.split(line)
    columns += ["_"] * (layout.width - len(columns))
    columns[layout.token] = token
    if layout.label is not None:
        columns[layout.label] = layout.with_label(columns[layout.label], label)
    return layout.join(columns)
