"""Sentences worth a look: where the model is sure and wrong, or where gold may be wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bilstm_crf.evaluation.entities import Entity
from bilstm_crf.evaluation.evaluated import EvaluatedSentence


@dataclass(frozen=True)
class Suspect:
    """A gold annotation that the model holds to be wrong.

    Attributes:
        sentence: index of the sentence in the file.
        gold: the gold entity it doubts; None where it sees an entity and gold has none.
        predicted: the entity it sees there; None where it sees none.
        doubt: how sure the model is against gold, in [0, 1]: one minus the probability of the
            gold entity, or the probability of the entity that gold lacks.
    """

    sentence: int
    gold: Entity | None
    predicted: Entity | None
    doubt: float


@dataclass(frozen=True)
class SureAndWrong:
    """A sentence the model got wrong.

    Attributes:
        sentence: index of the sentence in the file.
        probability: the probability it gave its own labels as a whole.
    """

    sentence: int
    probability: float


def surest_and_wrong(
    sentences: Sequence[EvaluatedSentence], *, limit: int = 20
) -> list[SureAndWrong]:
    """Return the wrong sentences whose predicted labels have the highest probability."""
    wrong = [
        SureAndWrong(index, sentence.record.path_probability)
        for index, sentence in enumerate(sentences)
        if sentence.gold != sentence.predicted and sentence.record.path_probability is not None
    ]
    return sorted(wrong, key=_by_probability)[:limit]


def suspect_gold(
    sentences: Sequence[EvaluatedSentence], *, limit: int = 20, least_doubt: float = 0.5
) -> list[Suspect]:
    """Return the gold annotations that are most probably wrong, the most doubtful first.

    Use it on data the model was not trained on (a dev or test file, or each part of the
    training data by a model of the other parts): on its own training data a model doubts little.

    Args:
        sentences: the evaluated sentences, with probabilities.
        limit: how many to return at most.
        least_doubt: leave out what the model doubts less.
    """
    suspects = [suspect for i, sentence in enumerate(sentences) for suspect in _doubts(i, sentence)]
    strong = [suspect for suspect in suspects if suspect.doubt >= least_doubt]
    return sorted(strong, key=_by_doubt)[:limit]


def _doubts(index: int, sentence: EvaluatedSentence) -> list[Suspect]:
    gold = set(sentence.gold)
    doubts = []
    rivals: set[Entity] = set()
    for entity, probability in sentence.gold_probabilities.items():
        if entity not in gold or entity in sentence.predicted:
            continue
        rival = _most_probable_overlap(entity, sentence)
        if rival is not None:
            rivals.add(rival)
        doubts.append(Suspect(index, entity, rival, 1.0 - probability))
    for entity, probability in sentence.predicted_probabilities.items():
        if entity not in gold and entity not in rivals:
            doubts.append(Suspect(index, None, entity, probability))
    return doubts


def _most_probable_overlap(entity: Entity, sentence: EvaluatedSentence) -> Entity | None:
    overlapping = [p for p in sentence.predicted if p[0] < entity[1] and entity[0] < p[1]]
    probabilities = sentence.predicted_probabilities
    return max(overlapping, key=lambda found: probabilities.get(found, 0.0), default=None)


def _by_probability(wrong: SureAndWrong) -> tuple[float, int]:
    return -wrong.probability, wrong.sentence


def _by_doubt(suspect: Suspect) -> tuple[Any, ...]:
    return -suspect.doubt, suspect.sentence, suspect.gold or suspect.predicted
