"""Running text with its entities marked in colour, as HTML that needs nothing else."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from bilstm_crf.corpus.sentence import Span
from bilstm_crf.evaluation.entities import Entity

if TYPE_CHECKING:
    from jinja2 import Environment

_GOLDEN_ANGLE = 137.508
"""Hues this many degrees apart stay distinct, however many follow each other."""


@dataclass(frozen=True)
class MarkedText:
    """A text and its entities.

    Attributes:
        text: the running text.
        spans: its entities, in character offsets; where two overlap the first one is marked.
    """

    text: str
    spans: Sequence[Span]


@dataclass(frozen=True)
class Piece:
    """A stretch of text that is one entity, or none.

    Attributes:
        text: the stretch.
        type: the entity type; empty outside entities.
        probability: of the entity, where it is known.
    """

    text: str
    type: str = ""
    probability: float | None = None


class TypeColours:
    """Hues of entity types, given out in the order in which types are first asked for."""

    def __init__(self, types: Iterable[str] = ()):
        self._hues: dict[str, int] = {}
        for name in types:
            self(name)

    def __call__(self, entity_type: str) -> int:
        """Return the hue of a type, in degrees."""
        following = round(220 + len(self._hues) * _GOLDEN_ANGLE) % 360
        return self._hues.setdefault(entity_type, following)


def cut_at_entities(marked: MarkedText) -> list[Piece]:
    """Cut a text into the stretches inside and between its entities."""
    pieces: list[Piece] = []
    end = 0
    for span in sorted(marked.spans, key=_start):
        if span.start < end:
            continue
        if span.start > end:
            pieces.append(Piece(marked.text[end : span.start]))
        end = span.end
        pieces.append(Piece(marked.text[span.start : end], span.type, span.probability))
    if end < len(marked.text):
        pieces.append(Piece(marked.text[end:]))
    return pieces


def join_tokens(
    tokens: Sequence[str],
    entities: Iterable[Entity],
    probabilities: dict[Entity, float] | None = None,
) -> MarkedText:
    """Join tokens by spaces and turn their entities' token offsets into character offsets."""
    starts = [0]
    for token in tokens:
        starts.append(starts[-1] + len(token) + 1)
    known = probabilities or {}
    return MarkedText(
        " ".join(tokens),
        [
            Span(starts[start], starts[end] - 1, name, known.get((start, end, name)))
            for start, end, name in entities
        ],
    )


def mark_up_html(texts: Iterable[MarkedText], *, title: str = "entities") -> Iterator[str]:
    """Yield a page that shows texts with their entities, piece by piece.

    Args:
        texts: in the order of the page; read one at a time, so a stream may be long.
        title: of the page.
    """
    template = templates().get_template("marked.html")
    yield from template.generate(title=title, texts=texts, hue=TypeColours())


@cache
def templates() -> "Environment":
    """Return the templates of this package."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("bilstm_crf.evaluation"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["pieces"] = cut_at_entities
    found.filters["percent"] = _percent
    return found


def _start(span: Span) -> tuple[int, int]:
    return span.start, -span.end


def _percent(value: float, digits: int = 1) -> str:
    return f"{100 * value:.{digits}f}"
