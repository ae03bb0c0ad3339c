"""Finds the entities of a JSON document in the shapes that annotation tools write."""

from collections.abc import Mapping
from typing import Any

from bilstm_crf.corpus.malformed import MalformedRows
from bilstm_crf.corpus.sentence import Span

LIST_KEYS = ("spans", "entities", "label", "labels", "annotations", "completions")
"""Keys that lead to the list of entities; the first that holds a list counts."""


class UnknownShapeError(ValueError):
    """The entities of a document are in no known shape."""


def find_spans(
    document: Mapping[str, Any], text: str, line: int, malformed: MalformedRows
) -> list[Span]:
    """Return the entities of a document in order, counted in characters, without overlaps.

    White space at the ends of an entity is trimmed. An entity outside the text, unlike
    its own words, or overlapping a longer one goes to ``malformed``.

    Raises:
        UnknownShapeError: no list of entities, or an entry without start, end and type.
        DataError: from ``malformed``.
    """
    key = next((key for key in LIST_KEYS if isinstance(document.get(key), list)), None)
    if key is None:
        raise UnknownShapeError(f"no list of entities ({', '.join(LIST_KEYS)})")
    entries = document[key]
    if key in ("annotations", "completions"):
        entries = _label_studio_values(entries)
    spans = [span for entry in entries if (span := _span(entry, text, line, malformed))]
    return _without_overlaps(spans, line, malformed)


def _label_studio_values(annotations: list[Any]) -> list[Any]:
    """Return the values of the text regions of the first annotation of a task."""
    first = annotations[0] if annotations else {}
    results = first.get("result") if isinstance(first, dict) else None
    values = [one.get("value") for one in results or [] if isinstance(one, dict)]
    return [value for value in values if isinstance(value, dict) and "start" in value]


def _span(entry: Any, text: str, line: int, malformed: MalformedRows) -> Span | None:
    found = _start_end_type(entry)
    if found is None:
        raise UnknownShapeError(f"cannot find start, end and type of the entity {entry!r:.80}")
    start, end, entity_type = found
    piece = text[start:end] if 0 <= start < end <= len(text) else ""
    if not piece.strip():
        message = f"entity {entity_type} at {start}-{end} is not in the text"
        malformed.add(line, "an entity outside its text", message, "no entity")
        return None
    own_words = entry.get("name", entry.get("text")) if isinstance(entry, dict) else None
    if isinstance(own_words, str) and own_words != piece:
        message = (
            f"entity {entity_type} at {start}-{end} is {piece!r} in the text, "
            f"but {own_words!r} in its own words"
        )
        malformed.add(line, "an entity unlike its text", message, "the offsets")
    start += len(piece) - len(piece.lstrip())
    return Span(start, start + len(piece.strip()), entity_type)


def _without_overlaps(spans: list[Span], line: int, malformed: MalformedRows) -> list[Span]:
    kept: list[Span] = []
    for span in sorted(spans, key=lambda one: (one.start - one.end, one.start)):
        clash = next((one for one in kept if one.start < span.end and span.start < one.end), None)
        if clash is None:
            kept.append(span)
        else:
            message = (
                f"entity {span.type} at {span.start}-{span.end} overlaps "
                f"{clash.type} at {clash.start}-{clash.end}"
            )
            malformed.add(line, "overlapping entities", message, "the longer one")
    return sorted(kept, key=lambda one: one.start)


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
    if type(start) is int and type(end) is int and isinstance(kind, str) and kind.strip():
        return start, end, kind.strip()
    return None


def find_token_offsets(document: Mapping[str, Any], text: str) -> list[tuple[int, int]] | None:
    """Return the tokens a document gives, by offsets or as strings, or None.

    None is also the answer to tokens that do not lie in order inside the text.
    """
    tokens = document.get("tokens")
    if not isinstance(tokens, list):
        return None
    offsets: list[tuple[int, int]] = []
    at = 0
    for token in tokens:
        start, end = _token_borders(token, text, at)
        if type(start) is not int or type(end) is not int or not at <= start < end <= len(text):
            return None
        offsets.append((start, end))
        at = end
    return offsets


def _token_borders(token: Any, text: str, at: int) -> tuple[Any, Any]:
    """Return what a token says of its borders; a string is looked for from ``at`` on."""
    if isinstance(token, str):
        start = text.find(token, at)
        return start, start + len(token)
    if isinstance(token, dict):
        return token.get("start"), token.get("end")
    return tuple(token) if isinstance(token, list) and len(token) == 2 else (None, None)
