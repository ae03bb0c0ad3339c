import subprocess
import sys

import numpy as np
import pytest

from bilstm_crf.evaluation.metrics import score, type_scores


def test_scores_hold_plain_numbers_only():
    scores = score([["B-A", "O", "B-B"]], [["B-A", "O", "O"]], scheme="BIO").as_dict()

    def walk(value):
        if isinstance(value, dict):
            for name, inner in value.items():
                assert type(name) is str
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)
        else:
            assert type(value) in (int, float, str)

    walk(scores)
    assert not any(isinstance(value, np.generic) for value in scores.values())
    assert scores["types"]["A"] == {
        "precision": 1.0,
        "recall": 1.0,
        "f1": 1.0,
        "support": 1,
        "predicted": 1,
        "correct": 1,
    }
    assert scores["recall"] == 0.5
    assert scores["accuracy"] == 2 / 3
    assert scores["weighted"]["f1"] == 0.5


def test_rows_of_different_shape_are_refused():
    with pytest.raises(ValueError, match="2 sentences in gold, 1 predicted"):
        score([["O"], ["O"]], [["O"]], scheme="BIO")
    with pytest.raises(ValueError, match="sentence 1: 2 gold labels, 1 predicted"):
        score([["O"], ["O", "O"]], [["O"], ["O"]], scheme="BIO")


def test_an_unknown_scheme_is_refused():
    with pytest.raises(ValueError, match="unknown label scheme 'BOO'"):
        score([["O"]], [["O"]], scheme="BOO")


def test_other_names_of_a_scheme_are_read_alike():
    gold, predicted = [["U-A", "B-A", "L-A"]], [["U-A", "U-A", "U-A"]]
    assert score(gold, predicted, scheme="BIOUL") == score(gold, predicted, scheme="BILOU")
    assert score(gold, predicted, scheme="BILOU").predicted == 3


def test_type_scores_of_nothing_are_zero():
    assert type_scores(0, 0, 0).f1 == 0.0
    assert type_scores(0, 3, 0).recall == 0.0


def test_scoring_imports_neither_seqeval_nor_torch():
    code = (
        "import sys; from bilstm_crf.evaluation.metrics import score;"
        "score([['B-A']], [['B-A']], scheme='BIO');"
        "sys.exit(str({'seqeval', 'sklearn', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "set()"
