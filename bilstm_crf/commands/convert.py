"""``bilstm-crf convert``: from any readable form of labelled data to any writable one."""

import itertools
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from bilstm_crf.commands.output import write_text
from bilstm_crf.commands.reading_options import ReadingOptions, reading_options
from bilstm_crf.corpus.data_section import expand_paths
from bilstm_crf.corpus.labels import (
    SCHEMES,
    detect_scheme,
    invalid_positions,
    labels_to_spans,
    scheme_name,
)
from bilstm_crf.corpus.readers import read_sentences
from bilstm_crf.corpus.sentence import Sentence, Span
from bilstm_crf.corpus.text_source import STANDARD_INPUT
from bilstm_crf.corpus.writers import WRITERS, Writer
from bilstm_crf.errors import ConfigError, DataError

logger = logging.getLogger(__name__)

FORMAT_OF_ENDING = {
    ".conll": "conll",
    ".tsv": "conll",
    ".txt": "conll",
    ".iob": "conll",
    ".bio": "conll",
    ".jsonl": "jsonl",
    ".json": "label-studio",
    ".html": "html",
}
"""Output format by the ending of the file, where none is named."""


def convert(
    inputs: Sequence[str],
    output: str,
    *,
    to: str | None = None,
    scheme: str | None = None,
    overrides: Sequence[str] = (),
) -> None:
    """Convert labelled files to one file in another format or label scheme.

    Args:
        inputs: paths and patterns; ``-`` is standard input.
        output: path, or ``-`` for standard output.
        to: a key of ``WRITERS``; default by the ending of ``output``.
        scheme: label scheme to write; default that of the input.
        overrides: ``data.x=value`` and ``labels.x=value``, how to read.

    Raises:
        BilstmCrfError: the input cannot be read, the output not be written, or a name
            is unknown.
    """
    options = reading_options(overrides)
    writer = WRITERS[_format_name(to, output)]
    paths = expand_paths(inputs)
    if any(str(path) != "-" and Path(output).absolute() == path.absolute() for path in paths):
        raise ConfigError(f"{output}: is an input too; write to another file")
    sentences: Iterable[Sentence] = _Corpus(paths, options)
    if STANDARD_INPUT in paths:
        sentences = list(sentences)
    source = options.labels.scheme
    if source == "auto":
        found = detect_scheme(sentence.labels or () for sentence in sentences)
        source = found.scheme
        logger.info("label scheme %s (%s)", source, found.evidence)
    target = _known_scheme(scheme) if scheme else source
    converter = _Converter(source, target, refuse=options.labels.on_invalid == "error")
    write_text(_pieces(writer, converter.entities(sentences), target), output)
    converter.warn()


class _Corpus:
    """Sentences of files, read anew each time they are gone through; the log is told once."""

    def __init__(self, paths: Sequence[Path], options: ReadingOptions):
        self._paths, self._settings = paths, options.reader_settings()
        self._describe: Callable[[str], None] | None = None

    def __iter__(self) -> Iterator[Sentence]:
        for path in self._paths:
            yield from read_sentences(path, self._settings, describe=self._describe)
        self._describe = _say_nothing


def _say_nothing(_: str) -> None:
    """Take no note of how a file is read."""


def _format_name(to: str | None, output: str) -> str:
    if to is None:
        to = FORMAT_OF_ENDING.get(Path(output).suffix.lower())
        if to is None:
            raise ConfigError(f"{output}: no format known for this name; give --to")
    if to not in WRITERS:
        raise ConfigError(f"unknown format {to!r}; known: {', '.join(WRITERS)}")
    return to


def _known_scheme(name: str) -> str:
    try:
        return scheme_name(name)
    except ValueError as error:
        raise ConfigError(str(error)) from None


class _Converter:
    """Turns sentences into entities and counts what does not come through as it was."""

    def __init__(self, source: str, target: str, *, refuse: bool):
        self._source, self._target, self._refuse = source, target, refuse
        self._num_malformed = self._num_merged = 0
        self._first_malformed = ""

    def entities(self, sentences: Iterable[Sentence]) -> Iterator[tuple[Sentence, list[Span]]]:
        """Yield each sentence with its entities."""
        merges = SCHEMES[self._target].merges_neighbours
        for sentence in sentences:
            labels = sentence.labels or ()
            if faults := invalid_positions(labels, self._source):
                self._note(sentence, *faults[0])
            spans = labels_to_spans(labels)
            if merges:
                pairs = itertools.pairwise(spans)
                self._num_merged += sum(a.end == b.start and a.type == b.type for a, b in pairs)
            yield sentence, spans

    def _note(self, sentence: Sentence, index: int, reason: str) -> None:
        if self._refuse:
            line = sentence.lines[index] if sentence.lines else None
            raise DataError(f"{reason} (labels.on_invalid: repair mends it)", sentence.path, line)
        self._num_malformed += 1
        self._first_malformed = self._first_malformed or f"{sentence.where(index)}: {reason}"

    def warn(self) -> None:
        """Log what was changed."""
        if self._num_malformed:
            logger.warning(
                "%d sentences have labels that are malformed in %s, mended (first: %s)",
                self._num_malformed, self._source, self._first_malformed,
            )  # fmt: skip
        if self._num_merged:
            logger.warning(
                "%s cannot keep %d adjacent entities of one type apart; they were merged",
                self._target, self._num_merged,
            )  # fmt: skip


def _pieces(
    writer: Writer, entities: Iterator[tuple[Sentence, list[Span]]], scheme: str
) -> Iterator[str]:
    yield writer.begin
    is_first = True
    for sentence, spans in entities:
        if not is_first and writer.between:
            yield writer.between
        is_first = False
        yield writer.sentence(sentence, spans, scheme)
    yield writer.end
