"""The strings that travel from a file to the model and back: a sentence and its spans."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

_NO_FEATURES: Mapping[str, tuple[str, ...]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Span:
    """One entity: half-open ``[start, end)``, counted in tokens or in characters.

    Attributes:
        start: first token (or character), counted from 0.
        end: one past the last.
        type: entity type, such as ``PER``.
        probability: posterior probability of the entity, in [0, 1], where one was asked for.
    """

    start: int
    end: int
    type: str
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sequence of tokens, with labels where they are known.

    Attributes:
        tokens: the tokens, byte for byte as in the file.
        labels: one label a token (``B-PER``, ``O``) in the scheme of the file, or None.
        path: the file it was read from, empty if none.
        lines: the line of each token in that file, counted from 1 (a ``range`` where the
            lines follow each other), empty if unknown.
        text: the running text the tokens were cut from, where there is one.
        offsets: for each token its ``(start, end)`` in ``text``, in characters.
        features: extra columns by name, one value a token.
        opens_document: it is the first of a document.
    """

    tokens: tuple[str, ...]
    labels: tuple[str, ...] | None = None
    path: str = ""
    lines: Sequence[int] = ()
    text: str | None = None
    offsets: tuple[tuple[int, int], ...] | None = None
    features: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _NO_FEATURES)
    opens_document: bool = False

    def __len__(self) -> int:
        return len(self.tokens)

    def where(self, index: int = 0) -> str:
        """Return ``file:line`` of a token, as far as it is known."""
        line = self.lines[index] if index < len(self.lines) else None
        return self.path if line is None else f"{self.path}:{line}"
