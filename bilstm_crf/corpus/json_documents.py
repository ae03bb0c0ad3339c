"""Reads documents in JSON: a text with character spans, in the shapes of common tools.

The shapes, told apart by their keys:

* doccano: ``{"text", "label": [[start, end, type]]}`` (also ``labels``), and with
  relations ``{"text", "entities": [{"start_offset", "end_offset", "label"}]}``;
* Label Studio: ``{"data": {"text"}, "annotations": [{"result": [{"value": {"start", "end",
  "labels"}}]}]}`` (also ``completions``), and its short form ``{"text", "label": [{...}]}``;
* Prodigy, spaCy: ``{"text", "spans": [{"start", "end", "label"}]}`` and
  ``[text, {"entities": [[start, end, type]]}]``;
* this package: ``{"text", "spans": [{"start", "end", "type", "text"}]}``, with ``tokens`` as
  ``[[start, end]]`` where they were given;
* the Japanese Wikipedia corpus: ``{"text", "entities": [{"name", "span", "type"}]}``;
* tokens: ``{"tokens": [...], "labels": [...]}`` (also ``tags``, ``ner_tags``).

Tokens that a document gives by offsets (here and in Prodigy's) are kept, else the text is cut.
Offsets count characters (code points), half-open. A token that a span border cuts is
cut there too, so that every entity is exactly its text.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bilstm_crf.corpus.annotated_spans import UnknownShapeError, find_spans, find_token_offsets
from bilstm_crf.corpus.labels import is_entity_label, spans_to_labels
from bilstm_crf.corpus.malformed import REPLACEMENT_TOKEN, MalformedRows
from bilstm_crf.corpus.plain_text import sentence_of_text
from bilstm_crf.corpus.schemes import OUTSIDE
from bilstm_crf.corpus.sentence import Sentence, Span
from bilstm_crf.corpus.tokenizer import TokenUnit, split_sentences, tokenize
from bilstm_crf.errors import DataError

_SPACE = re.compile(r"[ \t\n\r]*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_DECODER = json.JSONDecoder()
_TOKEN_LABEL_KEYS = ("labels", "tags", "ner_tags", "ner")


class JsonDocuments:
    """Turns JSON values into sentences.

    Args:
        path: the file, for messages and ``Sentence.path``.
        malformed: takes the spans that do not fit.
        labelled: whether to read the entities; without, the text alone.
        unit: what a token is.
        split: split each text into sentences (a border inside an entity is no border).
    """

    def __init__(
        self,
        path: Path,
        malformed: MalformedRows,
        *,
        labelled: bool = True,
        unit: TokenUnit = "words",
        split: bool = False,
    ):
        self._path, self._malformed, self._labelled = path, malformed, labelled
        self._unit, self._split = unit, split

    def read_array(self, chunks: Iterable[str]) -> Iterator[Sentence]:
        """Yield the sentences of one JSON array of documents, or of one document."""
        text = "".join(chunks).rstrip(" \t\n\r")
        at = _SPACE.match(text).end()  # type: ignore[union-attr]
        line = 1 + text.count("\n", 0, at)
        if text[at : at + 1] != "[":
            yield from self._document(self._parse(text, 1), line) if text[at:] else ()
            return
        at, counted = at + 1, at
        expected = "]"
        while True:
            at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
            line, counted = line + text.count("\n", counted, at), at
            if text[at : at + 1] == "]" and expected != "a document":
                break
            if expected == ", or ]":
                raise DataError(f"not JSON: {expected} expected", self._path, line)
            value, at = self._parse_at(text, at, line)
            yield from self._document(value, line)
            at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
            is_comma = text[at : at + 1] == ","
            expected, at = ("a document", at + 1) if is_comma else (", or ]", at)
        if text[at + 1 :].strip():
            raise DataError("more text after the end of the JSON array", self._path, line)

    def read_lines(self, chunks: Iterable[str]) -> Iterator[Sentence]:
        """Yield the sentences of a file with one JSON document a line."""
        number = 0
        for chunk in chunks:
            for text in chunk.removesuffix("\n").split("\n"):
                number += 1
                if text.strip():
                    yield from self._document(self._parse(text, number), number)

    def _parse(self, text: str, line: int) -> Any:
        """Parse a whole text as one JSON value."""
        value, end = self._parse_at(text, _SPACE.match(text).end(), line)  # type: ignore[union-attr]
        if text[end:].strip():
            line += text.count("\n", 0, end)
            raise DataError("more text after the end of the JSON document", self._path, line)
        return value

    def _parse_at(self, text: str, at: int, line: int) -> tuple[Any, int]:
        """Parse the JSON value that begins at a character, which stands on a line."""
        try:
            value, end = _DECODER.raw_decode(text, at)
        except json.JSONDecodeError as error:
            place = line + text.count("\n", at, error.pos)
            message = f"not JSON: {error.msg} at column {error.colno}"
            raise DataError(message, self._path, place) from None
        except (RecursionError, ValueError) as error:
            raise DataError(f"not readable JSON: {error}", self._path, line) from None
        if "\\ud" in text[at:end].lower():
            value = _without_surrogates(value)
        return value, end

    def _document(self, value: Any, line: int) -> Iterator[Sentence]:
        if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str):
            value = {"text": value[0], **(value[1] if isinstance(value[1], dict) else {})}
        if not isinstance(value, dict):
            kind = type(value).__name__
            raise DataError(f"a JSON object is needed, found {kind}", self._path, line)
        if isinstance(value.get("data"), dict):
            value = {**value["data"], **value}
        text, tokens = value.get("text"), value.get("tokens")
        has_tokens = isinstance(tokens, list) and all(isinstance(token, str) for token in tokens)
        if has_tokens and (not isinstance(text, str) or _has_token_labels(value)):
            yield from self._tokens(value, tokens, line)
        elif isinstance(text, str):
            yield from self._text(value, text, line)
        else:
            message = "neither a 'text' string nor a 'tokens' list of strings"
            raise DataError(message, self._path, line)

    def _tokens(
        self, value: Mapping[str, Any], tokens: Sequence[str], line: int
    ) -> Iterator[Sentence]:
        labels = None
        if self._labelled:
            key = _label_key(value)
            if key is None:
                raise DataError("tokens without a list of labels", self._path, line)
            labels = tuple(value[key])
            if len(labels) != len(tokens):
                message = f"{len(tokens)} tokens but {len(labels)} {key}"
                raise DataError(message, self._path, line)
            for label in labels:
                if not isinstance(label, str) or not (label == OUTSIDE or is_entity_label(label)):
                    message = f"{label!r} in {key!r} is no label such as B-PER or O"
                    raise DataError(message, self._path, line)
        tokens = [token or REPLACEMENT_TOKEN for token in tokens]
        if tokens:
            lines = (line,) * len(tokens)
            yield Sentence(tuple(tokens), labels, str(self._path), lines, opens_document=True)

    def _text(self, document: Mapping[str, Any], text: str, line: int) -> Iterator[Sentence]:
        spans: list[Span] = []
        if self._labelled:
            try:
                spans = find_spans(document, text, line, self._malformed)
            except UnknownShapeError as error:
                raise DataError(str(error), self._path, line) from None
        tokens = find_token_offsets(document, text)
        if tokens is None or not _cover(tokens, spans):
            tokens = tokenize(text, self._unit)
        sentences = self._sentences(text, spans)
        borders = {at for span in spans for at in (span.start, span.end)}
        tokens = cut_tokens(tokens, sorted(borders.union(end for _, end in sentences)))
        labels = label_tokens(tokens, spans)
        first, opens = 0, True
        for start, end in sentences:
            past_last = bisect_left(tokens, (end,), first)
            if past_last > first:
                yield sentence_of_text(
                    text[start:end],
                    [(one - start, two - start) for one, two in tokens[first:past_last]],
                    str(self._path),
                    line,
                    tuple(labels[first:past_last]) if self._labelled else None,
                    opens_document=opens,
                )
                opens = False
            first = past_last

    def _sentences(self, text: str, spans: Sequence[Span]) -> list[tuple[int, int]]:
        if not self._split:
            return [(0, len(text))]
        sentences: list[tuple[int, int]] = []
        for start, end in split_sentences(text):
            if sentences and any(s.start < start < s.end for s in spans):
                sentences[-1] = (sentences[-1][0], end)
            else:
                sentences.append((start, end))
        return sentences


def _label_key(document: Mapping[str, Any]) -> str | None:
    """Return the key of the list of token labels."""
    return next((key for key in _TOKEN_LABEL_KEYS if isinstance(document.get(key), list)), None)


def _has_token_labels(document: Mapping[str, Any]) -> bool:
    """Return whether there are labels of tokens, which are neither lists nor objects."""
    key = _label_key(document)
    labels = [] if key is None else document[key]
    return bool(labels) and not any(isinstance(label, list | dict) for label in labels)


def _without_surrogates(value: Any) -> Any:
    """Return a JSON value with half surrogate pairs, which no encoding has, as U+FFFD."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_surrogates(one) for one in value]
    if isinstance(value, dict):
        return {_without_surrogates(key): _without_surrogates(one) for key, one in value.items()}
    return value


def _cover(tokens: Sequence[tuple[int, int]], spans: Sequence[Span]) -> bool:
    """Return whether the first and the last character of every span are inside tokens."""
    for span in spans:
        for at in (span.start, span.end - 1):
            token = bisect_left(tokens, (at + 1,)) - 1
            if token < 0 or tokens[token][1] <= at:
                return False
    return True


def cut_tokens(offsets: Sequence[tuple[int, int]], borders: Sequence[int]) -> list[tuple[int, int]]:
    """Return the tokens with those cut in two that a border (sorted) falls inside of."""
    cut: list[tuple[int, int]] = []
    next_border = 0
    for start, end in offsets:
        while next_border < len(borders) and borders[next_border] <= start:
            next_border += 1
        while next_border < len(borders) and borders[next_border] < end:
            cut.append((start, borders[next_border]))
            start = borders[next_border]
            next_border += 1
        cut.append((start, end))
    return cut


def label_tokens(offsets: Sequence[tuple[int, int]], spans: Sequence[Span]) -> list[str]:
    """Return BIO labels of tokens for character spans whose borders are token borders."""
    first_at = {start: index for index, (start, _) in enumerate(offsets)}
    last_at = {end: index for index, (_, end) in enumerate(offsets)}
    in_tokens = [Span(first_at[s.start], last_at[s.end] + 1, s.type) for s in spans]
    return spans_to_labels(in_tokens, len(offsets), "BIO")
