"""Entity scores: precision, recall and F1 per type and averaged, as plain numbers.

The headline reading, the same in training, ``eval`` and the report, is that of seqeval's
default mode: the most used one, and equal to conlleval on BIO labels. `score` counts it
itself, fast enough for every epoch; it equals seqeval's result to the last digit.
`bilstm_crf.evaluation.readings` sets the other readings beside it.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.evaluation.counts import EntityCounts, count_labels
from bilstm_crf.evaluation.entities import SEQEVAL_DEFAULT, EntityFinder
from bilstm_crf.evaluation.letters import to_bioes_letters

Floats = NDArray[np.float64]

HEADLINE_READING = "seqeval_default"


@dataclass(frozen=True)
class AverageScores:
    """Precision, recall and F1 averaged over types, in [0, 1]."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class TypeScores:
    """Scores of one entity type.

    Attributes:
        precision: share of the predicted entities that are correct; 0 if none is predicted.
        recall: share of the gold entities that are found; 0 if there is none.
        f1: harmonic mean of the two; 0 if both are 0.
        support: entities in gold.
        predicted: entities predicted.
        correct: entities right in start, end and type.
    """

    precision: float
    recall: float
    f1: float
    support: int
    predicted: int
    correct: int


@dataclass(frozen=True)
class EntityScores:
    """Scores of one set of predictions: the micro average, its parts and other averages.

    Attributes:
        precision: micro average: all entities counted alike.
        recall: likewise.
        f1: likewise; the headline number.
        support: entities in gold.
        predicted: entities predicted.
        correct: entities right in start, end and type.
        types: the scores of each type that occurs in gold or prediction, sorted by name.
        macro: the plain mean over the types.
        weighted: the mean over the types, weighted by support.
        accuracy: share of tokens with the right label.
        num_tokens: tokens scored.
        reading: the rules by which labels were read as entities.
        notes: what to know about these numbers, such as that nothing was there to score.
    """

    precision: float
    recall: float
    f1: float
    support: int
    predicted: int
    correct: int
    types: dict[str, TypeScores]
    macro: AverageScores
    weighted: AverageScores
    accuracy: float
    num_tokens: int
    reading: str = HEADLINE_READING
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, strings, dicts and lists for JSON."""
        return {**asdict(self), "notes": list(self.notes)}


def score(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], *, scheme: str
) -> EntityScores:
    """Score predicted labels by the headline reading.

    Args:
        gold: the labels of each sentence. Types the model has never seen count as missed.
        predicted: likewise, of the same shape.
        scheme: the scheme of both, such as ``BIO``. BMES and BILOU are read by their BIOES
            letters (M as I; L as E, U as S), which seqeval's default mode does not know.

    Raises:
        ValueError: the two do not have the same shape.
    """
    find = EntityFinder(SEQEVAL_DEFAULT)
    rename = to_bioes_letters(scheme)
    counts = count_labels(gold, predicted, lambda labels: find(rename(labels)))
    return scores_from_counts(counts, *label_matches(gold, predicted), reading=HEADLINE_READING)


def label_matches(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> tuple[int, int]:
    """Count the tokens with equal labels, and all tokens."""
    equal = total = 0
    for gold_row, predicted_row in zip(gold, predicted, strict=True):
        total += len(gold_row)
        equal += sum(map(str.__eq__, gold_row, predicted_row))
    return equal, total


def scores_from_counts(
    counts: EntityCounts, equal_tokens: int, num_tokens: int, *, reading: str
) -> EntityScores:
    """Turn counts into scores.

    Args:
        counts: entity counts, summed here over the sentences.
        equal_tokens: tokens with the right label.
        num_tokens: all tokens.
        reading: the name of the reading by which the entities were found.
    """
    correct, predicted, gold = (
        table.sum(axis=0) for table in (counts.correct, counts.predicted, counts.gold)
    )
    micro = type_scores(int(correct.sum()), int(predicted.sum()), int(gold.sum()))
    by_type = map(type_scores, correct.tolist(), predicted.tolist(), gold.tolist())
    each = precision_recall_f1(correct, predicted, gold)
    return EntityScores(
        **asdict(micro),
        types=dict(zip(counts.types, by_type, strict=True)),
        macro=_average(each, np.ones_like(gold)),
        weighted=_average(each, gold),
        accuracy=equal_tokens / num_tokens if num_tokens else 0.0,
        num_tokens=num_tokens,
        reading=reading,
        notes=_notes(micro.support, micro.predicted),
    )


def precision_recall_f1(correct: Any, predicted: Any, gold: Any) -> tuple[Floats, Floats, Floats]:
    """Compute the three scores elementwise from counts of one shape; 0 where undefined.

    Van Rijsbergen 1979, chapter 7. The order of the operations is that of seqeval and
    scikit-learn, so that results agree to the last digit.
    """
    precision = correct / np.maximum(predicted, 1)
    recall = correct / np.maximum(gold, 1)
    total = precision + recall
    f1 = 2.0 * precision * recall / np.where(total == 0.0, 1.0, total)
    return precision, recall, f1


def ratio_scores(matched: float, predicted: int, gold: int) -> AverageScores:
    """Score counts of one kind of entity; ``matched`` may count some by half."""
    scores = precision_recall_f1(np.float64(matched), np.int64(predicted), np.int64(gold))
    return AverageScores(*map(float, scores))


def type_scores(correct: int, predicted: int, gold: int) -> TypeScores:
    """Score counts of one kind of entity."""
    ratios = ratio_scores(correct, predicted, gold)
    return TypeScores(ratios.precision, ratios.recall, ratios.f1, gold, predicted, correct)


def _average(scores: tuple[Floats, Floats, Floats], weights: NDArray[Any]) -> AverageScores:
    if weights.sum() == 0:
        return AverageScores(0.0, 0.0, 0.0)
    return AverageScores(*(float(np.average(values, weights=weights)) for values in scores))


def _notes(support: int, predicted: int) -> tuple[str, ...]:
    if support:
        return ()
    if predicted:
        return ("gold has no entity: every prediction is spurious and all scores are 0",)
    return ("neither gold nor prediction has an entity: nothing to score, all scores are 0",)
