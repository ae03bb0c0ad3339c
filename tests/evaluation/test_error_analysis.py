import json

import pytest

from bilstm_crf.corpus.sentence import Span
from bilstm_crf.evaluation.error_analysis import analyse_errors
from bilstm_crf.evaluation.evaluated import evaluated_sentences
from bilstm_crf.evaluation.records import RunAnalysis, SentenceRecord
from bilstm_crf.evaluation.suspicion import surest_and_wrong, suspect_gold

SENTENCES = (
    SentenceRecord(
        tokens=("Ann", "Lee", "met", "Rome", "Star"),
        gold=("B-PER", "I-PER", "O", "B-LOC", "B-ORG"),
        predicted=("B-PER", "I-PER", "O", "B-ORG", "I-ORG"),
        gold_spans=(Span(0, 2, "PER", 0.95), Span(3, 4, "LOC", 0.2), Span(4, 5, "ORG", 0.05)),
        predicted_spans=(Span(0, 2, "PER", 0.95), Span(3, 5, "ORG", 0.7)),
        path_probability=0.6,
        gold_path_probability=0.01,
        where="test.conll:1",
    ),
    SentenceRecord(
        tokens=tuple(["in", "the", "Rome", "of", "old", "."] + ["x"] * 8),
        gold=("O", "O", "B-LOC", *["O"] * 11),
        predicted=("O", "B-LOC", "I-LOC", *["O"] * 11),
        gold_spans=(Span(2, 3, "LOC", 0.3),),
        predicted_spans=(Span(1, 3, "LOC", 0.65),),
        path_probability=0.65,
        gold_path_probability=0.3,
    ),
    SentenceRecord(
        tokens=("Lima", "Ann"),
        gold=("O", "B-PER"),
        predicted=("B-LOC", "O"),
        gold_spans=(Span(1, 2, "PER", 0.45),),
        predicted_spans=(Span(0, 1, "LOC", 0.99),),
        path_probability=0.5,
        gold_path_probability=0.0,
    ),
    SentenceRecord(tokens=("ok",), gold=("O",), predicted=("O",), path_probability=1.0),
)
ANALYSIS = RunAnalysis(
    scheme="BIO",
    split="test",
    sentences=SENTENCES,
    training_entities={"Ann Lee": ("PER",), "Rome": ("ORG",), "Star": ("ORG",)},
)


def test_classes_and_confusion_count_every_entity_once():
    found = analyse_errors(evaluated_sentences(ANALYSIS), ANALYSIS.training_entities)
    assert found.classes == {
        "correct": 1,
        "wrong type": 0,
        "wrong boundary": 2,
        "wrong type and boundary": 0,
        "missed": 2,
        "spurious": 1,
    }
    assert found.confusion == {
        "LOC": {"LOC": 1, "none": 1},
        "ORG": {"ORG": 1},
        "PER": {"PER": 1, "none": 1},
        "none": {"LOC": 1},
    }
    assert found.classes_by_type["LOC"]["spurious"] == 1
    assert sum(n for row in found.classes_by_type.values() for n in row.values()) == 6
    assert json.loads(json.dumps(found.as_dict())) == found.as_dict()


def test_measures_of_semeval_follow_from_the_classes():
    measures = analyse_errors(evaluated_sentences(ANALYSIS), {}).measures
    # 5 gold and 4 predicted entities: 1 equal, 2 of the same type overlap
    assert measures["strict"].recall == 1 / 5
    assert measures["exact"].precision == 1 / 4
    assert measures["partial"].precision == 2 / 4
    assert measures["type"].recall == 3 / 5


def test_scores_are_split_by_what_training_knew():
    found = analyse_errors(evaluated_sentences(ANALYSIS), ANALYSIS.training_entities)
    seen = found.by_novelty["seen"]
    assert (seen.correct, seen.predicted, seen.support) == (1, 1, 2)
    other = found.by_novelty["seen with another type"]
    assert (other.correct, other.predicted, other.support) == (0, 0, 2)
    assert found.by_novelty["unseen"].support == 1


def test_scores_are_split_by_length_of_entity_and_sentence():
    found = analyse_errors(evaluated_sentences(ANALYSIS), {})
    assert list(found.by_entity_length) == ["1", "2"]
    assert found.by_entity_length["2"].correct == 1
    assert found.by_entity_length["1"].support == 4
    assert list(found.by_sentence_length) == ["1-9", "10-19"]
    assert found.by_sentence_length["10-19"].support == 1


def test_sure_and_wrong_sentences_come_surest_first():
    found = surest_and_wrong(evaluated_sentences(ANALYSIS), limit=2)
    assert [(one.sentence, one.probability) for one in found] == [(1, 0.65), (0, 0.6)]


def test_doubtful_gold_comes_most_doubtful_first():
    found = suspect_gold(evaluated_sentences(ANALYSIS))
    assert [(one.sentence, one.gold, one.predicted) for one in found] == [
        (2, None, (0, 1, "LOC")),
        (0, (4, 5, "ORG"), (3, 5, "ORG")),
        (0, (3, 4, "LOC"), (3, 5, "ORG")),
        (1, (2, 3, "LOC"), (1, 3, "LOC")),
        (2, (1, 2, "PER"), None),
    ]
    assert found[0].doubt == 0.99
    assert found[1].doubt == pytest.approx(0.95)
    assert len(suspect_gold(evaluated_sentences(ANALYSIS), limit=1)) == 1
    assert suspect_gold(evaluated_sentences(ANALYSIS), least_doubt=0.995) == []
