from pathlib import Path

import pytest

from bilstm_crf.corpus.sentence import Span
from bilstm_crf.errors import DataError
from bilstm_crf.evaluation.records import (
    RunAnalysis,
    SentenceRecord,
    Transitions,
    read_analysis,
    training_entities,
    write_analysis,
)

ANALYSIS = RunAnalysis(
    scheme="BIO",
    split="test",
    sentences=(
        SentenceRecord(
            ("Ånn", "x"), ("B-P", "O"), ("O", "O"), (Span(0, 1, "P", 0.25),), (), 0.5, None, "a:1"
        ),
        SentenceRecord((), (), ()),
    ),
    training_entities={"Ånn": ("P", "Q")},
    transitions=Transitions(("O", "B-P"), (0.5, -1.0), ((0.0, 1.0), (2.0, -3.0)), (0.0, 0.25)),
    fingerprints={"test": [{"path": "test.conll", "sha256": "0f"}]},
)


def test_what_is_written_is_read_back(tmp_path: Path):
    path = tmp_path / "analysis.json"
    for analysis in (ANALYSIS, RunAnalysis("BIOES", "dev", (), {})):
        write_analysis(analysis, path)
        assert read_analysis(path) == analysis


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not an analysis file"),
        ("[]", "not an analysis file"),
        ('{"format": 1}', "not an analysis file .KeyError"),
        ('{"format": 99}', "analysis of format 99, expected 1"),
    ],
)
def test_another_file_is_refused_by_name(tmp_path: Path, text: str, message: str):
    path = tmp_path / "analysis.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message) as refused:
        read_analysis(path)
    assert str(path) in str(refused.value)


def test_training_entities_collect_all_types_of_a_text():
    sentences = [
        (("New", "York", "x"), (Span(0, 2, "LOC"),)),
        (("New", "York"), (Span(0, 2, "ORG"),)),
    ]
    assert training_entities(sentences) == {"New York": ("LOC", "ORG")}
