"""Label schemes as a table, and what the table implies: label sets and allowed transitions.

A scheme says which prefix a token of an entity takes, by its place in the entity. All
else (which label may follow which, how spans become labels) is derived from the five
letters of its row, so that one more row is one more scheme.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

OUTSIDE = "O"
"""The label of a token outside all entities, everywhere past the reader."""

CONTINUING_PREFIXES = frozenset("IMEL")
"""Prefixes that, in one scheme or another, may continue an entity."""
CLOSING_PREFIXES = frozenset("ELSU")
"""Prefixes that, in every scheme that has them, end their entity."""


@dataclass(frozen=True)
class Scheme:
    """The prefixes of one label scheme.

    Attributes:
        name: its key in ``SCHEMES``.
        first: prefix of the first of several tokens.
        inside: prefix of the tokens between first and last.
        last: prefix of the last of several tokens.
        single: prefix of an entity of one token.
        adjacent: prefix of the first token of an entity that directly follows one of
            the same type, where the scheme marks this case alone (IOB1); else None.
    """

    name: str
    first: str
    inside: str
    last: str
    single: str
    adjacent: str | None = None

    @cached_property
    def prefixes(self) -> tuple[str, ...]:
        """All prefixes of entity labels, each once."""
        letters = [self.first, self.adjacent, self.inside, self.last, self.single]
        return tuple(dict.fromkeys(letter for letter in letters if letter))

    @cached_property
    def starting(self) -> frozenset[str]:
        """Prefixes that start an entity at the sentence start, after O or another type."""
        return frozenset({self.first, self.single})

    @cached_property
    def starting_adjacent(self) -> frozenset[str]:
        """Prefixes that start an entity directly after one of the same type."""
        return frozenset({self.adjacent}) if self.adjacent else self.starting

    @cached_property
    def continuing(self) -> frozenset[str]:
        """Prefixes that continue an entity."""
        return frozenset({self.inside, self.last})

    @cached_property
    def unfinished(self) -> frozenset[str]:
        """Prefixes after which the entity may go on."""
        return frozenset({self.first, self.inside, self.adjacent or self.first})

    @cached_property
    def finished(self) -> frozenset[str]:
        """Prefixes after which the entity may end."""
        return frozenset({self.last, self.single, self.adjacent or self.last})

    @property
    def merges_neighbours(self) -> bool:
        """True if two adjacent entities of one type look like one entity (IO)."""
        return self.starting_adjacent <= self.continuing


SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        #      name     first inside last single adjacent
        Scheme("IO", "I", "I", "I", "I"),
        Scheme("IOB1", "I", "I", "I", "I", "B"),
        Scheme("BIO", "B", "I", "I", "B"),
        Scheme("BIOES", "B", "I", "E", "S"),
        Scheme("BMES", "B", "M", "E", "S"),
        Scheme("BILOU", "B", "I", "L", "U"),
    )
}

ALIASES = {"IOB2": "BIO", "IOB": "BIO", "IOBES": "BIOES", "BIOUL": "BILOU", "BMEWO": "BMES"}
"""Other names in use for rows of the table."""

PREFIXES = frozenset(prefix for scheme in SCHEMES.values() for prefix in scheme.prefixes)
"""Every prefix that some scheme knows."""


def scheme_name(name: str) -> str:
    """Return the key in ``SCHEMES`` for a name in any case or a common other name.

    Raises:
        ValueError: no scheme is called so.
    """
    upper = name.upper()
    key = ALIASES.get(upper, upper)
    if key not in SCHEMES:
        raise ValueError(f"unknown label scheme {name!r}; known: {', '.join(SCHEMES)}")
    return key


def split_label(label: str, outside: str = OUTSIDE) -> tuple[str, str]:
    """Split a label at its first hyphen into prefix and entity type.

    ``B-LOC-deriv`` gives ``("B", "LOC-deriv")``; the outside label gives ``("O", "")``;
    a label without hyphen gives an empty prefix: ``("", label)``.
    """
    if label == outside:
        return OUTSIDE, ""
    prefix, hyphen, entity_type = label.partition("-")
    return (prefix, entity_type) if hyphen else ("", label)


def is_entity_label(label: str) -> bool:
    """Return whether a label is a known prefix, a hyphen and an entity type."""
    prefix, entity_type = split_label(label)
    return prefix in PREFIXES and entity_type != ""


@cache
def is_transition_allowed(scheme: str, previous: str | None, label: str | None) -> bool:
    """Return whether a label may follow another in a well-formed sequence.

    Args:
        scheme: a key of ``SCHEMES``.
        previous: the label before, or None for the start of the sentence.
        label: the label after, or None for the end of the sentence.
    """
    row = SCHEMES[scheme]
    previous_prefix, previous_type = split_label(previous) if previous else (OUTSIDE, "")
    prefix, entity_type = split_label(label) if label else (OUTSIDE, "")
    if previous_prefix not in (OUTSIDE, *row.prefixes) or prefix not in (OUTSIDE, *row.prefixes):
        return False
    nothing_open = previous_prefix == OUTSIDE or previous_prefix in row.finished
    if prefix == OUTSIDE:
        return nothing_open
    same_type = previous_type == entity_type
    if same_type and previous_prefix in row.unfinished and prefix in row.continuing:
        return True
    starting = row.starting_adjacent if same_type else row.starting
    return nothing_open and prefix in starting


@dataclass(frozen=True)
class AllowedTransitions:
    """Which label may start a sentence, follow which, and end a sentence.

    Attributes:
        start: boolean (labels,).
        pairs: boolean (labels, labels); ``pairs[i, j]`` is about i then j.
        end: boolean (labels,).
    """

    start: NDArray[np.bool_]
    pairs: NDArray[np.bool_]
    end: NDArray[np.bool_]


def allowed_transitions(labels: Sequence[str], scheme: str) -> AllowedTransitions:
    """Return ``is_transition_allowed`` for all labels and pairs of labels, as arrays."""
    scheme = scheme_name(scheme)
    start = [is_transition_allowed(scheme, None, label) for label in labels]
    end = [is_transition_allowed(scheme, label, None) for label in labels]
    parts = [split_label(label) for label in labels]
    prefixes, types = sorted({prefix for prefix, _ in parts}), sorted({name for _, name in parts})
    # What may follow what depends on the two prefixes, and on whether the types are the same.
    same, other = (
        np.array(
            [
                [
                    is_transition_allowed(scheme, _joined(one, "X"), _joined(two, name))
                    for two in prefixes
                ]
                for one in prefixes
            ],
            dtype=np.bool_,
        ).reshape(len(prefixes), len(prefixes))
        for name in ("X", "Y")
    )
    prefix = np.array([prefixes.index(one) for one, _ in parts], dtype=np.int64)
    kind = np.array([types.index(name) for _, name in parts], dtype=np.int64)
    pairs = prefix[:, None], prefix
    return AllowedTransitions(
        start=np.array(start, dtype=np.bool_),
        pairs=np.where(kind[:, None] == kind, same[pairs], other[pairs]),
        end=np.array(end, dtype=np.bool_),
    )


def _joined(prefix: str, entity_type: str) -> str:
    """Return the label that :func:`split_label` splits so."""
    if prefix == OUTSIDE:
        return OUTSIDE
    return f"{prefix}-{entity_type}" if prefix else entity_type


def model_labels(types: Sequence[str], scheme: str) -> list[str]:
    """Return every label a model of these entity types needs: O, then type by type."""
    prefixes = SCHEMES[scheme_name(scheme)].prefixes
    return [OUTSIDE, *(f"{prefix}-{name}" for name in sorted(set(types)) for prefix in prefixes)]
