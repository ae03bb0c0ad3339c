"""Correct, predicted and gold entities per sentence and type: all that entity scores need."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.evaluation.entities import Entity

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class EntityCounts:
    """Entity counts of a corpus, sentence by sentence.

    Attributes:
        types: the entity types, sorted; the columns of the arrays.
        correct: entities equal in gold and prediction, shape ``(sentences, types)``.
        predicted: entities predicted, same shape.
        gold: entities in gold, same shape.
    """

    types: tuple[str, ...]
    correct: Counts
    predicted: Counts
    gold: Counts


def check_lengths(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> None:
    """Raise ValueError where two sets of label rows do not have the same shape."""
    if len(gold) != len(predicted):
        raise ValueError(f"{len(gold)} sentences in gold, {len(predicted)} predicted")
    for index, (gold_row, predicted_row) in enumerate(zip(gold, predicted, strict=True)):
        if len(gold_row) != len(predicted_row):
            raise ValueError(
                f"sentence {index}: {len(gold_row)} gold labels, {len(predicted_row)} predicted"
            )


def count_entities(
    gold: Iterable[Iterable[Entity]],
    predicted: Iterable[Iterable[Entity]],
    *,
    types: Sequence[str] = (),
) -> EntityCounts:
    """Compare the entities of each sentence.

    Args:
        gold: the entities of each sentence.
        predicted: likewise, as many sentences.
        types: types to give a column even if no entity has them.

    An entity is correct when start, end and type agree; one named twice counts once.
    """
    cells: tuple[list[tuple[int, str]], ...] = ([], [], [])
    num_sentences = 0
    for sentence, (gold_row, predicted_row) in enumerate(zip(gold, predicted, strict=True)):
        num_sentences += 1
        gold_set, predicted_set = set(gold_row), set(predicted_row)
        if not gold_set and not predicted_set:
            continue
        for cell, entities in zip(
            cells, (gold_set & predicted_set, predicted_set, gold_set), strict=True
        ):
            cell.extend((sentence, entity_type) for _, _, entity_type in entities)
    names = tuple(sorted({*types, *(name for cell in cells for _, name in cell)}))
    return EntityCounts(names, *(_table(cell, names, num_sentences) for cell in cells))


def count_labels(
    gold: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    find: Callable[[Sequence[str]], list[Entity]],
) -> EntityCounts:
    """Find the entities of each row of labels and compare them.

    Raises:
        ValueError: the two do not have the same shape.
    """
    check_lengths(gold, predicted)
    return count_entities(map(find, gold), map(find, predicted))


def _table(cell: list[tuple[int, str]], names: tuple[str, ...], num_sentences: int) -> Counts:
    column = {name: index for index, name in enumerate(names)}
    flat = [sentence * len(names) + column[name] for sentence, name in cell]
    counted = np.bincount(
        np.asarray(flat, dtype=np.int64), minlength=num_sentences * len(names)
    ).astype(np.int64)
    return counted.reshape(num_sentences, len(names))
