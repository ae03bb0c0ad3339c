"""What kinds of errors a model makes, and where it makes them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bilstm_crf.evaluation.alignment import AlignedPair, ErrorClass, align
from bilstm_crf.evaluation.entities import Entity
from bilstm_crf.evaluation.evaluated import EvaluatedSentence
from bilstm_crf.evaluation.metrics import AverageScores, TypeScores, ratio_scores, type_scores

NO_ENTITY = "none"
"""Stands in a confusion for the entity that is not there."""

NOVELTIES = ("seen", "seen with another type", "unseen")
ENTITY_LENGTHS = ("1", "2", "3", "4+")
SENTENCE_LENGTHS = ("1-9", "10-19", "20-39", "40+")


@dataclass(frozen=True)
class ErrorAnalysis:
    """The errors of a model on one file, counted from several sides.

    Attributes:
        classes: how many pairs of each class there are.
        classes_by_type: the same by gold type (predicted type for spurious ones).
        measures: scores by the measures of SemEval-2013: ``strict`` (boundaries and type),
            ``exact`` (boundaries), ``partial`` (boundaries, an overlap counts half),
            ``type`` (any overlap of the same type).
        confusion: gold type -> predicted type -> pairs; ``none`` stands for no entity.
        by_novelty: scores of entities by what training knew of their text: ``seen`` with
            this type, ``seen with another type``, ``unseen``; empty if training is not known.
        by_entity_length: scores by number of tokens of the entity.
        by_sentence_length: scores by number of tokens of the sentence.
    """

    classes: dict[str, int]
    classes_by_type: dict[str, dict[str, int]]
    measures: dict[str, AverageScores]
    confusion: dict[str, dict[str, int]]
    by_novelty: dict[str, TypeScores]
    by_entity_length: dict[str, TypeScores]
    by_sentence_length: dict[str, TypeScores]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain types for JSON."""
        return asdict(self)


def analyse_errors(
    sentences: Sequence[EvaluatedSentence], training_entities: Mapping[str, Sequence[str]] | None
) -> ErrorAnalysis:
    """Count the errors of a model from several sides.

    Args:
        sentences: the evaluated sentences.
        training_entities: entity text -> types it has in the training data, if it is known.
    """
    pairs = [pair for sentence in sentences for pair in align(sentence.gold, sentence.predicted)]
    by_type: dict[str, Counter[str]] = {}
    confusion: dict[str, Counter[str]] = {}
    for pair in pairs:
        gold_type, predicted_type = _types(pair)
        owner = predicted_type if pair.gold is None else gold_type
        by_type.setdefault(owner, Counter())[pair.error_class] += 1
        confusion.setdefault(gold_type, Counter())[predicted_type] += 1

    classes: Counter[str] = Counter(pair.error_class for pair in pairs)
    return ErrorAnalysis(
        classes=_by_class(classes),
        classes_by_type={name: _by_class(by_type[name]) for name in sorted(by_type)},
        measures=_measures(classes),
        confusion={name: dict(sorted(confusion[name].items())) for name in sorted(confusion)},
        by_novelty={} if training_entities is None else _by_novelty(sentences, training_entities),
        by_entity_length=scores_by(sentences, _entity_length, ENTITY_LENGTHS),
        by_sentence_length=scores_by(sentences, _sentence_length, SENTENCE_LENGTHS),
    )


def scores_by(
    sentences: Sequence[EvaluatedSentence],
    group: Callable[[EvaluatedSentence, Entity], str],
    names: Sequence[str],
) -> dict[str, TypeScores]:
    """Score the entities of each group by itself.

    Args:
        sentences: the evaluated sentences.
        group: sentence and entity -> name of its group, the same for gold and prediction.
        names: the groups, in the order of the result; those without entity are left out.
    """
    correct, predicted, gold = Counter[str](), Counter[str](), Counter[str]()
    for sentence in sentences:
        gold.update(group(sentence, entity) for entity in sentence.gold)
        predicted.update(group(sentence, entity) for entity in sentence.predicted)
        right = set(sentence.gold).intersection(sentence.predicted)
        correct.update(group(sentence, entity) for entity in right)
    return {
        name: type_scores(correct[name], predicted[name], gold[name])
        for name in names
        if gold[name] or predicted[name]
    }


def _by_novelty(
    sentences: Sequence[EvaluatedSentence], training_entities: Mapping[str, Sequence[str]]
) -> dict[str, TypeScores]:
    def novelty(sentence: EvaluatedSentence, entity: Entity) -> str:
        types = training_entities.get(sentence.text(entity), ())
        return "seen" if entity[2] in types else "seen with another type" if types else "unseen"

    return scores_by(sentences, novelty, NOVELTIES)


def _types(pair: AlignedPair) -> tuple[str, str]:
    return (
        NO_ENTITY if pair.gold is None else pair.gold[2],
        NO_ENTITY if pair.predicted is None else pair.predicted[2],
    )


def _by_class(counted: Counter[str]) -> dict[str, int]:
    return {str(name): counted[name] for name in ErrorClass}


def _measures(classes: Counter[str]) -> dict[str, AverageScores]:
    """Score by the measures of SemEval-2013 (task 9, section 5)."""
    correct, wrong_type, wrong_boundary, wrong_both, missed, spurious = (
        classes[name] for name in ErrorClass
    )
    paired = correct + wrong_type + wrong_boundary + wrong_both
    matches = {
        "strict": correct,
        "exact": correct + wrong_type,
        "partial": correct + wrong_type + 0.5 * (wrong_boundary + wrong_both),
        "type": correct + wrong_boundary,
    }
    return {
        name: ratio_scores(matched, paired + spurious, paired + missed)
        for name, matched in matches.items()
    }


def _entity_length(sentence: EvaluatedSentence, entity: Entity) -> str:
    return ENTITY_LENGTHS[min(entity[1] - entity[0], len(ENTITY_LENGTHS)) - 1]


def _sentence_length(sentence: EvaluatedSentence, entity: Entity) -> str:
    length = len(sentence.record.tokens)
    return SENTENCE_LENGTHS[sum(length >= first for first in (10, 20, 40))]
