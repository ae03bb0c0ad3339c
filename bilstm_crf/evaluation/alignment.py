"""Gold and predicted entities set against each other, one to one, and what each pair is.

The classes are those of SemEval-2013 task 9 (Segura-Bedmar, Martínez and Herrero-Zazo 2013,
https://aclanthology.org/S13-2056/), with its class of partial matches split by type.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from bilstm_crf.evaluation.entities import Entity


class ErrorClass(StrEnum):
    """What a pair of a gold and a predicted entity is, or an entity without a partner."""

    CORRECT = "correct"
    WRONG_TYPE = "wrong type"
    WRONG_BOUNDARY = "wrong boundary"
    WRONG_BOTH = "wrong type and boundary"
    MISSED = "missed"
    SPURIOUS = "spurious"


@dataclass(frozen=True, slots=True)
class AlignedPair:
    """A gold entity and the predicted one set against it; one of them may be None."""

    gold: Entity | None
    predicted: Entity | None

    @property
    def error_class(self) -> ErrorClass:
        """The class of the pair."""
        if self.gold is None:
            return ErrorClass.SPURIOUS
        if self.predicted is None:
            return ErrorClass.MISSED
        same_boundary = self.gold[:2] == self.predicted[:2]
        same_type = self.gold[2] == self.predicted[2]
        if same_boundary:
            return ErrorClass.CORRECT if same_type else ErrorClass.WRONG_TYPE
        return ErrorClass.WRONG_BOUNDARY if same_type else ErrorClass.WRONG_BOTH


def align(gold: Sequence[Entity], predicted: Sequence[Entity]) -> list[AlignedPair]:
    """Pair the entities of one sentence, each with at most one of the other side.

    The closest go first: equal ones, then those with the same boundaries, then those of the
    same type that overlap, then any that overlap; more common tokens before fewer, then
    from left to right. What is left over is missed or spurious, so every gold and every
    predicted entity is in exactly one pair.

    Returns:
        The pairs, by the place of their first token.
    """
    candidates = sorted(
        (_distance(g, p), i, j)
        for i, g in enumerate(gold)
        for j, p in enumerate(predicted)
        if g[0] < p[1] and p[0] < g[1]
    )
    partner_of_gold: dict[int, int] = {}
    taken: set[int] = set()
    for _, i, j in candidates:
        if i not in partner_of_gold and j not in taken:
            partner_of_gold[i] = j
            taken.add(j)
    pairs = [
        AlignedPair(g, predicted[partner_of_gold[i]] if i in partner_of_gold else None)
        for i, g in enumerate(gold)
    ]
    pairs += [AlignedPair(None, p) for j, p in enumerate(predicted) if j not in taken]
    return sorted(pairs, key=_first_token)


def _distance(gold: Entity, predicted: Entity) -> tuple[bool, bool, int]:
    common = min(gold[1], predicted[1]) - max(gold[0], predicted[0])
    return gold[:2] != predicted[:2], gold[2] != predicted[2], -common


def _first_token(pair: AlignedPair) -> int:
    return min(entity[0] for entity in (pair.gold, pair.predicted) if entity is not None)
