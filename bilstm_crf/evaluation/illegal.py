"""Labels that their scheme does not allow where they stand, and what each reading made of them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bilstm_crf.corpus.labels import invalid_positions
from bilstm_crf.evaluation.entities import Entity


@dataclass(frozen=True)
class IllegalLabels:
    """Illegal labels in one set of label rows.

    Attributes:
        labels: how many labels are illegal where they stand.
        sentences: how many sentences hold at least one.
        reasons: how often each reason was given, the most frequent first.
        first: index of the first such sentence and of the token in it, None if there is none.
        entities: by reading, how many entities it saw in those sentences.
    """

    labels: int
    sentences: int
    reasons: dict[str, int]
    first: tuple[int, int] | None
    entities: dict[str, int]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain types for JSON."""
        return {**asdict(self), "first": None if self.first is None else list(self.first)}


def find_illegal(
    rows: Sequence[Sequence[str]],
    scheme: str,
    finders: Mapping[str, Callable[[Sequence[str]], list[Entity]]],
) -> IllegalLabels:
    """Count the illegal labels.

    Args:
        rows: the labels of each sentence.
        scheme: their scheme.
        finders: by reading, a function that finds the entities of a sentence.
    """
    reasons: Counter[str] = Counter()
    legal: set[tuple[str, ...]] = set()
    entities = dict.fromkeys(finders, 0)
    sentences = 0
    first: tuple[int, int] | None = None
    for index, labels in enumerate(rows):
        row = tuple(labels)
        if row in legal:
            continue
        found = invalid_positions(row, scheme)
        if not found:
            legal.add(row)
            continue
        sentences += 1
        first = first or (index, found[0][0])
        reasons.update(reason for _, reason in found)
        for name, find in finders.items():
            entities[name] += len(find(row))
    return IllegalLabels(reasons.total(), sentences, dict(reasons.most_common()), first, entities)
