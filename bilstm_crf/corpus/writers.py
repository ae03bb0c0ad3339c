"""From sentences and their entities to text: a table of output formats.

A writer turns one sentence at a time into text, so that output streams. Entities are
spans counted in tokens; where a format counts characters, ``text[start:end]`` is the
entity.
"""

import html
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bilstm_crf.corpus.labels import spans_to_labels
from bilstm_crf.corpus.sentence import Sentence, Span
from bilstm_crf.corpus.sentence_text import character_spans, text_and_offsets
from bilstm_crf.errors import DataError

_BREAKS_A_ROW = re.compile(r"[\t\n\r]")
_BRACKETS = re.compile(r"([\\\[\]])")

_HTML_BEGIN = """<!DOCTYPE html>
<meta charset="utf-8">
<style>
body { font-family: sans-serif; line-height: 1.8; max-width: 50em; margin: 2em auto; }
mark { background: #e8eefc; border-radius: 0.3em; padding: 0.1em 0.3em; }
mark::after { content: attr(data-type); font-size: 65%; margin-left: 0.4em; color: #456; }
</style>
"""


@dataclass(frozen=True)
class Writer:
    """One output format.

    Attributes:
        sentence: gives the text of one sentence from it, its entities (spans in tokens,
            in order) and the label scheme, which only formats with labels heed.
        begin: text before the first sentence.
        between: text between two sentences.
        end: text after the last sentence.
    """

    sentence: Callable[[Sentence, Sequence[Span], str], str]
    begin: str = ""
    between: str = ""
    end: str = ""


def _conll(sentence: Sentence, spans: Sequence[Span], scheme: str) -> str:
    """Token, extra columns and label set apart by tabs; an empty line after the sentence."""
    labels = spans_to_labels(spans, len(sentence), scheme)
    columns = [sentence.tokens, *sentence.features.values(), labels]
    rows = list(zip(*columns, strict=True))
    for row in rows:
        if any(_BREAKS_A_ROW.search(value) for value in row):
            raise DataError(f"{row[0]!r} cannot stand in a row of columns; write jsonl instead")
    return "".join("\t".join(row) + "\n" for row in rows) + "\n"


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _jsonl(sentence: Sentence, spans: Sequence[Span], scheme: str) -> str:
    """Text and spans with type, own text and, if known, probability; tokens if they came so."""
    text, offsets = text_and_offsets(sentence)
    entries = []
    for start, end, span in character_spans(spans, offsets):
        entry = {"start": start, "end": end, "type": span.type, "text": text[start:end]}
        if span.probability is not None:
            entry["probability"] = round(span.probability, 6)
        entries.append(entry)
    document: dict[str, Any] = {"text": text, "spans": entries}
    if sentence.offsets is None:
        document["tokens"] = offsets
    return _as_json(document) + "\n"


def _doccano(sentence: Sentence, spans: Sequence[Span], scheme: str) -> str:
    text, offsets = text_and_offsets(sentence)
    label = [[start, end, span.type] for start, end, span in character_spans(spans, offsets)]
    return _as_json({"text": text, "label": label}) + "\n"


def _prodigy(sentence: Sentence, spans: Sequence[Span], scheme: str) -> str:
    text, offsets = text_and_offsets(sentence)
    tokens = [
        {"text": text[start:end], "start": start, "end": end, "id": number}
        for number, (start, end) in enumerate(offsets)
    ]
    entries = [
        {
            "start": start,
            "end": end,
            "token_start": span.start,
            "token_end": span.end - 1,
            "label": span.type,
        }
        for start, end, span in character_spans(spans, offsets)
    ]
    return _as_json({"text": text, "tokens": tokens, "spans": entries}) + "\n"


def _label_studio(sentence: Sentence, spans: Sequence[Span], scheme: str) -> str:
    text, offsets = text_and_offsets(sentence)
    result = [
        {
            "from_name": "label",
            "to_name": "text",
            "type": "labels",
            "value": {"start": start, "end": end, "text": text[start:end], "labels": [span.type]},
        }
        for start, end, span in character_spans(spans, offsets)
    ]
    return _as_json({"data": {"text": text}, "annotations": [{"result": result}]})


def _marked(
    sentence: Sentence,
    spans: Sequence[Span],
    escape: Callable[[str], str],
    mark: Callable[[str, str], str],
) -> str:
    """Return the text, escaped, with each entity inside a mark made from its type and text."""
    text, offsets = text_and_offsets(sentence)
    pieces: list[str] = []
    at = 0
    for start, end, span in character_spans(spans, offsets):
        pieces += (escape(text[at:start]), mark(escape(span.type), escape(text[start:end])))
        at = end
    return "".join([*pieces, escape(text[at:])])


def _inline(sentence: Sentence, spans: Sequence[Span], scheme: str) -> str:
    r"""One line of text with entities as ``[PER Mira Holt]``; ``\`` before brackets of the text."""

    def escape(text: str) -> str:
        return _BRACKETS.sub(r"\\\1", text.replace("\n", " "))

    return _marked(sentence, spans, escape, "[{} {}]".format) + "\n"


def _html(sentence: Sentence, spans: Sequence[Span], scheme: str) -> str:
    mark = '<mark data-type="{}">{}</mark>'.format
    return f"<p>{_marked(sentence, spans, html.escape, mark)}</p>\n"


WRITERS: dict[str, Writer] = {
    "conll": Writer(_conll),
    "jsonl": Writer(_jsonl),
    "doccano": Writer(_doccano),
    "prodigy": Writer(_prodigy),
    "label-studio": Writer(_label_studio, begin="[\n", between=",\n", end="\n]\n"),
    "inline": Writer(_inline),
    "html": Writer(_html, begin=_HTML_BEGIN),
}
"""Format name -> writer."""
