"""Reads documents in JSON: a text with character spans, in the shapes of common tools.

The shapes, told apart by their keys:

* doccano: ``{"text", "label": [[start, end, type]]}`` (also ``labels``), and with
  relations ``{"text", "entities": [{"start_offset", "end_offset", "label"}]}``;
* Label Studio: ``{"data": {"text"}, "annotations": [{"result": [{"value": {"start", "end",
  "labels"}}]}]}`` (also ``completions``), and its short form ``{"text", "label": [{...}]}``;
* Prodigy, spaCy: ``{"text", "spans": [{"start", "end", "label"}]}`` and
  ``[text, {"entities": [[start, end, type]]}]``;
* this package: ``{"text", "spans": [{"start", "end", "type", "text"}]}``;
* the Japanese Wikipedia corpus: ``{"text", "entities": [{"name", "span", "type"}]}``;
* tokens: ``{"tokens": [...], "labels": [...]}`` (also ``tags``, ``ner_tags``).

Offsets count characters (code points), half-open. A token that a span border cuts is
cut there too, so that every entity is exactly its text.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bilstm_crf.corpus.labels import is_entity_label, spans_to_labels
from bilstm_crf.corpus.malformed import REPLACEMENT_TOKEN, MalformedRows
from bilstm_crf.corpus.plain_text import sentence_of_text
from bilstm_crf.corpus.schemes import OUTSIDE
from bilstm_crf.corpus.sentence import Sentence, Span
from bilstm_crf.corpus.tokenizer import TokenUnit, split_sentences, tokenize
from bilstm_crf.errors import DataError

_LIST_KEYS = ("spans", "entities", "label", "labels", "annotations", "completions")
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
        """Yield the sentences of one JSON array of documents; lines count its documents."""
        text = "".join(chunks)
        if not text.strip():
            return
        value = self._parse(text, 1)
        for number, document in enumerate(value if isinstance(value, list) else [value], 1):
            yield from self._document(document, number)

    def read_lines(self, chunks: Iterable[str]) -> Iterator[Sentence]:
        """Yield the sentences of a file with one JSON document a line."""
        number = 0
        for chunk in chunks:
            for text in chunk.removesuffix("\n").split("\n"):
                number += 1
                if text.strip():
                    yield from self._document(self._parse(text, number), number)

    def _parse(self, text: str, line: int) -> Any:
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            message = f"not JSON: {error.msg} at column {error.colno}"
            raise DataError(message, self._path, line + error.lineno - 1) from None
        except (RecursionError, ValueError) as error:
            raise DataError(f"not readable JSON: {error}", self._path, line) from None

    def _document(self, value: Any, line: int) -> Iterator[Sentence]:
        if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str):
            value = {"text": value[0], **(value[1] if isinstance(value[1], dict) else {})}
        if not isinstance(value, dict):
            raise self._error(line, f"a JSON object is needed, found {type(value).__name__}")
        if isinstance(value.get("data"), dict):
            value = {**value["data"], **value}
        text, tokens = value.get("text"), value.get("tokens")
        if isinstance(tokens, list) and all(isinstance(token, str) for token in tokens):
            yield from self._tokens(value, tokens, line)
        elif isinstance(text, str):
            spans = self._spans(value, text, line) if self._labelled else []
            yield from self._text(text, spans, line)
        else:
            raise self._error(line, "neither a 'text' string nor a 'tokens' list of strings")

    def _error(self, line: int, message: str) -> DataError:
        return DataError(f"document {line}: {message}", self._path, line)

    def _tokens(
        self, value: Mapping[str, Any], tokens: Sequence[str], line: int
    ) -> Iterator[Sentence]:
        labels = None
        if self._labelled:
            key = next((key for key in _TOKEN_LABEL_KEYS if isinstance(value.get(key), list)), None)
            if key is None:
                raise self._error(line, "tokens without a list of labels")
            labels = tuple(value[key])
            if len(labels) != len(tokens):
                raise self._error(line, f"{len(tokens)} tokens but {len(labels)} {key}")
            for label in labels:
                if not isinstance(label, str) or not (label == OUTSIDE or is_entity_label(label)):
                    raise self._error(line, f"{label!r} in {key!r} is no label such as B-PER or O")
        tokens = [token or REPLACEMENT_TOKEN for token in tokens]
        if tokens:
            yield Sentence(tuple(tokens), labels, str(self._path), (line,) * len(tokens))

    def _spans(self, value: Mapping[str, Any], text: str, line: int) -> list[Span]:
        key = next((key for key in _LIST_KEYS if isinstance(value.get(key), list)), None)
        if key is None:
            raise self._error(line, f"no list of entities ({', '.join(_LIST_KEYS)})")
        entries: list[Any] = value[key]
        if key in ("annotations", "completions"):
            results = [one["result"] for one in entries[:1] if isinstance(one, dict)]
            entries = [
                one["value"]
                for result in results
                for one in result
                if isinstance(one, dict) and isinstance(one.get("value"), dict)
            ]
            entries = [one for one in entries if "start" in one]
        spans = [span for entry in entries if (span := self._span(entry, text, line))]
        return self._without_overlaps(spans, line)

    def _span(self, entry: Any, text: str, line: int) -> Span | None:
        """Return one entity, white space trimmed, or None for one that cannot be."""
        found = _start_end_type(entry)
        if found is None:
            raise self._error(line, f"cannot find start, end and type of the entity {entry!r:.80}")
        start, end, entity_type = found
        piece = text[start:end] if 0 <= start < end <= len(text) else ""
        if not piece.strip():
            message = f"document {line}: entity {entity_type} at {start}-{end} is not in the text"
            self._malformed.add(line, "an entity outside its text", message, "no entity")
            return None
        expected = entry.get("name", entry.get("text")) if isinstance(entry, dict) else None
        if isinstance(expected, str) and expected != piece:
            message = f"document {line}: entity {entity_type} at {start}-{end} is {piece!r} in the"
            message = f"{message} text but {expected!r} in its own words"
            self._malformed.add(line, "an entity unlike its text", message, "the offsets")
        return Span(
            start + len(piece) - len(piece.lstrip()),
            end - len(piece) + len(piece.rstrip()),
            entity_type,
        )

    def _without_overlaps(self, spans: list[Span], line: int) -> list[Span]:
        kept: list[Span] = []
        for span in sorted(spans, key=lambda one: (one.start - one.end, one.start)):
            clash = next((o for o in kept if o.start < span.end and span.start < o.end), None)
            if clash is None:
                kept.append(span)
            else:
                message = (
                    f"document {line}: entity {span.type} at {span.start}-{span.end} overlaps "
                    f"{clash.type} at {clash.start}-{clash.end}"
                )
                self._malformed.add(line, "overlapping entities", message, "the longer one")
        return sorted(kept, key=lambda one: one.start)

    def _text(self, text: str, spans: list[Span], line: int) -> Iterator[Sentence]:
        borders = sorted({at for span in spans for at in (span.start, span.end)})
        for start, end in self._sentences(text, spans):
            piece = text[start:end]
            inside = [
                Span(span.start - start, span.end - start, span.type)
                for span in spans
                if start <= span.start < end
            ]
            cuts = [border - start for border in borders if start < border < end]
            offsets = cut_tokens(tokenize(piece, self._unit), cuts)
            if not offsets:
                continue
            labels = tuple(label_tokens(offsets, inside)) if self._labelled else None
            yield sentence_of_text(piece, offsets, str(self._path), line, labels)

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


def _start_end_type(entry: Any) -> tuple[int, int, str] | None:
    """Find start, end and type in one entry of any of the shapes."""
    if isinstance(entry, list) and len(entry) >= 3:
        start, end, kind = entry[:3]
    elif isinstance(entry, dict):
        span = entry.get("span")
        start, end = span if isinstance(span, list) and len(span) == 2 else (None, None)
        start = entry.get("start", entry.get("start_offset", start))
        end = entry.get("end", entry.get("end_offset", end))
        kind = entry.get("type", entry.get("label", entry.get("labels")))
        kind = kind[0] if isinstance(kind, list) and kind else kind
    else:
        return None
    if type(start) is int and type(end) is int and isinstance(kind, str) and kind:
        return start, end, kind
    return None


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
