"""Where entities begin and end in a row of labels, by the rules of the known scorers.

Two scorers that read the same labels may see different entities when the row is malformed
(``O I-PER``, ``B-PER I-LOC``). Each is written here as a table of letter pairs and run by
one loop: between two neighbouring labels an entity may end, and another may begin.

- seqeval's default mode: Nakayama 2018, https://github.com/chakki-works/seqeval,
  knows the letters B, I, E, S;
- conlleval: Tjong Kim Sang 1999-2004, the scorer of the CoNLL shared tasks,
  https://www.clips.uantwerpen.be/conll2000/chunking/, made for B, I (and an early E).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Entity = tuple[int, int, str]
"""``(start, end, type)``, half-open, counted in tokens of one sentence."""

_OUTSIDE_LETTERS = frozenset({"O", "."})
_NO_TYPE = "_"


def split_as_seqeval(label: str) -> tuple[str, str]:
    """Split a label as seqeval's default mode does: first character, then what follows a hyphen."""
    rest = label[1:]
    _, hyphen, after = rest.partition("-")
    return label[:1], (after if hyphen else rest) or _NO_TYPE


def split_as_conlleval(label: str) -> tuple[str, str]:
    """Split a label as conlleval does: what stands before and after the first hyphen."""
    letter, _, entity_type = label.partition("-")
    return letter, entity_type


@dataclass(frozen=True)
class BoundaryRules:
    """How one scorer reads labels.

    Attributes:
        split: label -> (letter, type).
        ends: pairs of letters between which an entity of the same type ends.
        starts: pairs of letters between which an entity of the same type starts.

    A change of type always ends what was open before and starts what comes next.
    """

    split: Callable[[str], tuple[str, str]]
    ends: frozenset[tuple[str, str]]
    starts: frozenset[tuple[str, str]]

    def between(self, previous: str, current: str) -> tuple[bool, bool]:
        """Return whether an entity ends, and whether one starts, between two labels."""
        before, type_before = self.split(previous)
        after, type_after = self.split(current)
        other_type = type_before != type_after
        ends = (before, after) in self.ends or (other_type and before not in _OUTSIDE_LETTERS)
        starts = (before, after) in self.starts or (other_type and after not in _OUTSIDE_LETTERS)
        return ends, starts


def _pairs(before: str, after: str) -> frozenset[tuple[str, str]]:
    return frozenset((x, y) for x in before for y in after)


_ANY = "OBIESLUM."

SEQEVAL_DEFAULT = BoundaryRules(
    split=split_as_seqeval,
    ends=_pairs("ES", _ANY) | _pairs("BI", "BSO"),
    starts=_pairs(_ANY, "BS") | _pairs("ESO", "EI"),
)
CONLLEVAL = BoundaryRules(
    split=split_as_conlleval,
    ends=_pairs("BI", "BO") | _pairs("E", "EIO"),
    starts=_pairs("BIO", "B") | _pairs("EO", "EI"),
)


class EntityFinder:
    """Finds the entities of many sentences by one set of rules.

    What happens between two labels is worked out once per pair of labels, so a
    corpus costs one dictionary look-up a token. Not safe to share between threads.
    """

    def __init__(self, rules: BoundaryRules):
        self._rules = rules
        self._between: dict[tuple[str, str], tuple[bool, bool]] = {}

    def __call__(self, labels: Sequence[str]) -> list[Entity]:
        """Return the entities of one sentence from left to right."""
        entities: list[Entity] = []
        known = self._between
        previous, begin = "O", 0
        for index, label in enumerate((*labels, "O")):
            if label == previous == "O":
                continue
            pair = (previous, label)
            found = known.get(pair)
            if found is None:
                found = known[pair] = self._rules.between(previous, label)
            ends, starts = found
            if ends:
                entities.append((begin, index, self._rules.split(previous)[1]))
            if starts:
                begin = index
            previous = label
        return entities
