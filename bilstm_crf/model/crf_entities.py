"""The entities that are probable enough, each judged by itself, in place of the best label path.

The best path bets on all labels of a sentence at once. Where a model is unsure it often bets on no
entity, though one of several readings is likely. The expected F1 of a set of entities is greatest
when it holds those more probable than a threshold, and the best threshold is half the F1 that it
leads to: below one half, the lower the harder the data (Lipton, Elkan and Naryanaswamy 2014,
"Thresholding Classifiers to Maximize F1 Score", section 4, https://arxiv.org/abs/1402.1892). Of
entities that overlap, those are taken whose probabilities exceed the threshold by most together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.corpus.schemes import OUTSIDE, SCHEMES

Floats = NDArray[np.floating]
Following = Callable[[list[int], list[int]], Floats]
"""Of some labels, each with one that may come behind it: (time, batch, pairs), the probability that
a token with the first label is followed by one with the second; 0 at the last token."""

Entity = tuple[int, int, int, float]
"""First token, end, number of the type, probability."""


@dataclass(frozen=True)
class EntityLabels:
    """The label ids that write the entities of each type.

    Attributes:
        outside: id of the label for no entity.
        first: (types,) ids of the first of several tokens.
        inside: (types,) of those between.
        last: (types,) of the last one.
        single: (types,) of an entity of one token.
    """

    outside: int
    first: list[int]
    inside: list[int]
    last: list[int]
    single: list[int]

    @classmethod
    def of(cls, labels: Sequence[str], scheme: str) -> "EntityLabels":
        """Return the ids for a scheme in which the first label of an entity says so.

        Types of which a label is missing are left out.

        Raises:
            ValueError: in IO and IOB1 it depends on the label before.
        """
        row = SCHEMES[scheme]
        if not row.starting.isdisjoint(row.continuing):
            raise ValueError(f"in {scheme} a label does not say whether an entity begins with it")
        ids = {label: number for number, label in enumerate(labels)}
        parts = (row.first, row.inside, row.last, row.single)
        types = dict.fromkeys(label.partition("-")[2] for label in labels if label != OUTSIDE)
        found = [[ids.get(f"{part}-{name}", -1) for part in parts] for name in types]
        columns = [list(one) for one in zip(*(row for row in found if -1 not in row), strict=True)]
        return cls(ids.get(OUTSIDE, 0), *(columns or [[], [], [], []]))


def probable_entities(
    states: Floats, following: Following, labels: EntityLabels, threshold: float
) -> NDArray[np.int64]:
    """Return (batch, time) label paths of the most probable entities; outside labels between them.

    Args:
        states: (time, batch, labels) probability of each label at each token; 0 in the padding.
        following: how probable it is that one label follows another.
        labels: how entities are written.
        threshold: how probable an entity must be.
    """
    time, batch, _ = states.shape
    paths = np.full((batch, time), labels.outside, dtype=np.int64)
    if labels.first:
        for row, entities in enumerate(_candidates(states, following, labels, threshold)):
            for start, end, kind, _ in _best_together(entities, threshold):
                if end - start == 1:
                    paths[row, start] = labels.single[kind]
                    continue
                paths[row, start] = labels.first[kind]
                paths[row, start + 1 : end - 1] = labels.inside[kind]
                paths[row, end - 1] = labels.last[kind]
    return paths


def _candidates(
    states: Floats, following: Following, labels: EntityLabels, threshold: float
) -> list[list[Entity]]:
    """Return the entities of each sentence that are more probable than the threshold."""

    def not_going_on(label: list[int]) -> Floats:
        going_on = following(label, labels.last)
        if labels.inside != labels.last:
            going_on = going_on + following(label, labels.inside)
        remaining: Floats = np.maximum(1.0 - going_on, 0.0)
        return remaining

    single = states[:, :, labels.single] * not_going_on(labels.single)
    begins = states[:, :, labels.first]
    found: list[list[Entity]] = [[] for _ in range(states.shape[1])]
    for step, row, kind in np.argwhere(single > threshold).tolist():
        found[row].append((step, step + 1, kind, float(single[step, row, kind])))
    longer = np.argwhere(begins > threshold).tolist()
    if not longer:
        return found
    ends = not_going_on(labels.last)
    steps = [
        (following(before, labels.inside), following(before, labels.last))
        for before in (labels.first, labels.inside)
    ]
    for start, row, kind in longer:
        (to_inside, to_last), step = steps[0], start
        weight = float(begins[start, row, kind])  # of all entities that are not yet at their end
        while weight > threshold and step + 1 < len(begins):
            probability = weight * to_last[step, row, kind] * ends[step + 1, row, kind]
            if probability > threshold:
                found[row].append((start, step + 2, kind, float(probability)))
            weight *= float(to_inside[step, row, kind])
            (to_inside, to_last), step = steps[1], step + 1
    return found


def _best_together(entities: list[Entity], threshold: float) -> list[Entity]:
    """Return the entities without overlap that exceed the threshold by most together."""
    if len(entities) < 2:
        return entities
    entities = sorted(entities, key=lambda entity: entity[1])
    ends = [end for _, end, _, _ in entities]
    # Best sum and choice among the first n entities, and how many end before the n-th begins.
    best: list[tuple[float, list[Entity]]] = [(0.0, [])]
    for number, entity in enumerate(entities):
        before = int(np.searchsorted(ends[:number], entity[0], side="right"))
        value = best[before][0] + entity[3] - threshold
        best.append(
            (value, [*best[before][1], entity]) if value > best[number][0] else best[number]
        )
    return best[-1][1]
