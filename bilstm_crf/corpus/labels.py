"""Labels and spans: from one to the other, from scheme to scheme, and what is malformed.

Malformed sequences are read by one rule, the same here, in repairs and in scores:
**a label continues the entity before it if it has the same type, its prefix can continue
an entity (I, M, E, L) and the label before did not close it (E, L, S, U); any other
entity label starts a new entity.** This is the reading of conlleval and of seqeval's
default mode.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from pydantic import field_validator

from bilstm_crf.corpus.scheme_detection import SchemeDetection, detect_scheme
from bilstm_crf.corpus.schemes import (
    CLOSING_PREFIXES,
    CONTINUING_PREFIXES,
    OUTSIDE,
    SCHEMES,
    AllowedTransitions,
    Scheme,
    allowed_transitions,
    is_entity_label,
    is_transition_allowed,
    model_labels,
    scheme_name,
    split_label,
)
from bilstm_crf.corpus.sentence import Span
from bilstm_crf.section import Section

__all__ = [
    "OUTSIDE",
    "SCHEMES",
    "AllowedTransitions",
    "LabelsSection",
    "Scheme",
    "SchemeDetection",
    "allowed_transitions",
    "convert_labels",
    "detect_scheme",
    "invalid_positions",
    "is_entity_label",
    "is_transition_allowed",
    "labels_to_spans",
    "model_labels",
    "repair_labels",
    "scheme_name",
    "spans_to_labels",
    "split_label",
]


def _known_scheme(name: str) -> str:
    return name if name == "auto" else scheme_name(name)


class LabelsSection(Section):
    """How labels are read from the files and which scheme the model learns."""

    scheme: str = "auto"
    """Scheme of the files: auto, IO, IOB1, BIO, BIOES, BMES or BILOU."""
    model_scheme: str = "BIOES"
    """Scheme of the model's own labels; results are given in the scheme of the files."""
    on_invalid: Literal["repair", "error"] = "repair"
    """What becomes of a malformed sequence (I-PER after O in BIO): repair and count, or error."""
    outside: str = "auto"
    """Label of tokens outside all entities; auto takes O, or 0 where a file has no O."""
    bare_types: bool | Literal["auto"] = "auto"
    """Whether labels are entity types without prefix (PER, not I-PER): true, false, or auto, which
    looks at the file."""

    @field_validator("scheme")
    @classmethod
    def _check_scheme(cls, value: str) -> str:
        return _known_scheme(value)

    @field_validator("model_scheme")
    @classmethod
    def _check_model_scheme(cls, value: str) -> str:
        return scheme_name(value)


def labels_to_spans(labels: Sequence[str], scheme: str = "BIO") -> list[Span]:
    """Return the entities of a label sequence, well-formed or not, in order.

    Args:
        labels: ``O`` and labels with a prefix that some scheme knows.
        scheme: the scheme of the labels; a well-formed sequence of any scheme is read
            by the same rule, so it serves only to refuse unknown names.

    Raises:
        ValueError: a label is neither ``O`` nor a known prefix, a hyphen and a type.
    """
    if scheme not in SCHEMES:
        scheme_name(scheme)
    spans: list[Span] = []
    start, open_type, closed = 0, "", True
    for index, label in enumerate(labels):
        if label == OUTSIDE:
            if open_type:
                spans.append(Span(start, index, open_type))
                open_type = ""
            continue
        entity_type, continues, closes = _parts(label)
        if not (continues and entity_type == open_type and not closed):
            if open_type:
                spans.append(Span(start, index, open_type))
            start, open_type = index, entity_type
        closed = closes
    if open_type:
        spans.append(Span(start, len(labels), open_type))
    return spans


@lru_cache(maxsize=4096)
def _parts(label: str) -> tuple[str, bool, bool]:
    """Return a label's entity type, whether it can continue and whether it closes an entity."""
    prefix, entity_type = split_label(label)
    if not is_entity_label(label):
        raise ValueError(f"{label!r} is not {OUTSIDE} or a label such as B-PER")
    return entity_type, prefix in CONTINUING_PREFIXES, prefix in CLOSING_PREFIXES


def spans_to_labels(spans: Sequence[Span], length: int, scheme: str) -> list[str]:
    """Return the labels of a sentence of ``length`` tokens with these entities.

    Raises:
        ValueError: spans overlap, are empty or reach outside the sentence.
    """
    row = SCHEMES[scheme_name(scheme)]
    labels = [OUTSIDE] * length
    previous_end, previous_type = 0, ""
    for span in sorted(spans, key=_by_start):
        if not previous_end <= span.start < span.end <= length:
            raise ValueError(f"{span} overlaps another, is empty or leaves 0..{length}")
        touches = previous_end == span.start and previous_type == span.type
        num_tokens = span.end - span.start
        first = row.single if num_tokens == 1 else row.first
        if touches and row.adjacent:
            first = row.adjacent
        labels[span.start] = f"{first}-{span.type}"
        if num_tokens > 1:
            inside = f"{row.inside}-{span.type}"
            labels[span.start + 1 : span.end - 1] = [inside] * (num_tokens - 2)
            labels[span.end - 1] = f"{row.last}-{span.type}"
        previous_end, previous_type = span.end, span.type
    return labels


def _by_start(span: Span) -> int:
    return span.start


def convert_labels(labels: Sequence[str], source: str, target: str) -> list[str]:
    """Return the same entities in another scheme; malformed input is repaired by the rule.

    Into IO this loses the border between adjacent entities of one type; into every
    other scheme it loses nothing.
    """
    if labels.count(OUTSIDE) == len(labels):
        return list(labels)
    return spans_to_labels(labels_to_spans(labels, source), len(labels), target)


def repair_labels(labels: Sequence[str], scheme: str) -> list[str]:
    """Return the well-formed sequence of the entities read by the rule of this module."""
    return convert_labels(labels, scheme, scheme)


def invalid_positions(labels: Sequence[str], scheme: str) -> list[tuple[int, str]]:
    """Return where a sequence is malformed in a scheme, and why, in order.

    An entity that is not closed is reported at its last token, a label that continues
    nothing at its own.
    """
    scheme = scheme_name(scheme)
    row = SCHEMES[scheme]
    faults: list[tuple[int, str]] = []
    previous: str | None = None
    for index, label in enumerate([*labels, None]):
        if previous == label == OUTSIDE or is_transition_allowed(scheme, previous, label):
            previous = label
            continue
        prefix, entity_type = split_label(label) if label else (OUTSIDE, "")
        before, type_before = split_label(previous) if previous else (OUTSIDE, "")
        if before in row.unfinished - row.finished and not (
            prefix in row.continuing and type_before == entity_type
        ):
            faults.append((index - 1, f"{previous} is not continued or closed in {scheme}"))
        if label is not None and prefix != OUTSIDE:
            if prefix not in row.prefixes:
                faults.append((index, f"{label}: {scheme} has no prefix {prefix!r}"))
            elif not is_transition_allowed(scheme, None, label):
                faults.append((index, f"{label} continues nothing in {scheme}"))
        previous = label
    return faults
