"""Documents to be labelled: lines of running text, JSON objects, or sentences of token lines."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from bilstm_crf.corpus.data_section import ReaderSettings
from bilstm_crf.corpus.sentence import Sentence, Span
from bilstm_crf.corpus.sentence_text import text_and_offsets
from bilstm_crf.errors import DataError
from bilstm_crf.prediction.labeller import Prediction
from bilstm_crf.prediction.token_lines import BYTE_ORDER_MARK, TokenLines, wrong_byte
from bilstm_crf.prediction.window_lines import line_reader

Cutter = Callable[[str], list[Sentence]]
"""Cuts a text into sentences whose offsets count from the beginning of the text."""


@dataclass(frozen=True)
class Document:
    """One text and its sentences.

    Attributes:
        text: the running text.
        sentences: with offsets into it.
        fields: the JSON object it came in, empty if it came otherwise.
    """

    text: str
    sentences: Sequence[Sentence]
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LabelledDocument:
    """A document with what the model says of its sentences, in their order."""

    document: Document
    predictions: Sequence[Prediction]

    def spans(self) -> list[Span]:
        """Return the entities, counted in characters of the text."""
        return [span for one in self.predictions for span in self.spans_of(one, one.spans)]

    def spans_of(self, prediction: Prediction, spans: Sequence[Span]) -> list[Span]:
        """Return spans in tokens of one sentence as spans in characters of the text."""
        offsets = prediction.sentence.offsets or ()
        return [
            Span(offsets[span.start][0], offsets[span.end - 1][1], span.type, span.probability)
            for span in spans
        ]


class TextLines:
    """Reads running text: each line is a document, an empty one too.

    Args:
        path: the file, for messages.
        cut: cuts a line into sentences.
    """

    def __init__(self, path: Path, cut: Cutter):
        self._lines, self._cut = _Lines(path), cut

    def read(self, block: bytes) -> Iterator[Document]:
        """Yield the documents of a block of whole lines."""
        for _, line in self._lines.read(block):
            yield Document(line, self._cut(line))

    def finish(self) -> Iterator[Document]:
        """Yield what was held back once all blocks are read: nothing."""
        yield from ()


class JsonLines:
    """Reads JSON lines: each object has a ``text``, or ``tokens``; its other keys are kept.

    Args:
        path: the file, for messages.
        cut: cuts a text into sentences.
    """

    def __init__(self, path: Path, cut: Cutter):
        self._path, self._lines, self._cut = path, _Lines(path), cut

    def read(self, block: bytes) -> Iterator[Document]:
        """Yield the documents of a block of whole lines.

        Raises:
            DataError: a line is no JSON object with a text or tokens.
        """
        for number, line in self._lines.read(block):
            if line.strip():
                yield self._document(line, number)

    def finish(self) -> Iterator[Document]:
        """Yield what was held back once all blocks are read: nothing."""
        yield from ()

    def _document(self, line: str, number: int) -> Document:
        try:
            fields = json.loads(line)
        except json.JSONDecodeError as error:
            message = f"not JSON: {error.msg} at column {error.colno}; expected an object a line"
            raise DataError(message, self._path, number) from None
        except (RecursionError, ValueError) as error:
            raise DataError(f"not readable JSON: {error}", self._path, number) from None
        if not isinstance(fields, dict):
            found = type(fields).__name__
            raise DataError(f"expected a JSON object, found {found}", self._path, number)
        data = fields.get("data")
        text = fields.get("text", data.get("text") if isinstance(data, dict) else None)
        if isinstance(text, str):
            return Document(text, self._cut(text), fields)
        tokens = fields.get("tokens")
        if isinstance(tokens, list) and all(isinstance(one, str) for one in tokens):
            return _joined(Sentence(tuple(tokens), opens_document=True), fields)
        message = "expected a 'text' string or a 'tokens' list of strings in the object"
        raise DataError(message, self._path, number)


class TokenSentences:
    """Reads files with a token a line: each sentence is a document.

    Args:
        path: the file, for messages.
        settings: how to read its columns.
        context_tokens: most tokens that the model reads at once, None if it reads sentences.
    """

    def __init__(self, path: Path, settings: ReaderSettings, context_tokens: int | None = None):
        self._path, self._reader = path, line_reader(path, settings, context_tokens)

    def read(self, block: bytes) -> Iterator[Document]:
        """Yield the documents of a block of whole sentences.

        Raises:
            DataError: a token is not UTF-8, or a column is missing.
        """
        yield from self._documents(self._reader.read(block))

    def finish(self) -> Iterator[Document]:
        """Yield what was held back once all blocks are read."""
        found = self._reader.finish()
        if found is not None:
            yield from self._documents(found)

    def _documents(self, found: TokenLines) -> Iterator[Document]:
        try:
            tokens = [token.decode() for token in found.tokens]
        except UnicodeDecodeError:
            raise wrong_byte(found, self._path) from None
        opening = set(found.documents.tolist())
        for first, last in pairwise(found.starts.tolist()):
            features = {name: tuple(v[first:last]) for name, v in found.columns.items()}
            lines = tuple(found.where(number) for number in range(first, last))
            yield _joined(
                Sentence(
                    tuple(tokens[first:last]),
                    path=str(self._path),
                    lines=lines,
                    features=features,
                    opens_document=first in opening,
                )
            )


class _Lines:
    """The lines of a file as strings, with their numbers.

    Args:
        path: the file, for messages.
    """

    def __init__(self, path: Path):
        self._path, self._next = path, 1

    def read(self, block: bytes) -> Iterator[tuple[int, str]]:
        """Yield the lines of a block, without their line ends."""
        if self._next == 1:
            block = block.removeprefix(BYTE_ORDER_MARK)
        for line in block.removesuffix(b"\n").split(b"\n"):
            number, self._next = self._next, self._next + 1
            try:
                yield number, line.removesuffix(b"\r").decode()
            except UnicodeDecodeError as error:
                message = (
                    f"byte 0x{line[error.start]:02x} at offset {error.start} of the line is not "
                    "UTF-8; name the file's own encoding with --set data.encoding=NAME"
                )
                raise DataError(message, self._path, number) from None


def _joined(sentence: Sentence, fields: Mapping[str, Any] | None = None) -> Document:
    """Return a document whose text is the tokens of a sentence put together."""
    text, offsets = text_and_offsets(sentence)
    placed = replace(sentence, text=text, offsets=tuple(offsets))
    return Document(text, [placed] if len(sentence) else [], fields or {})
