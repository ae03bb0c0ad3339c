"""What a form looks like to the network: characters, shape, hashed views."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilstm_crf.corpus.forms import FEATURE_KINDS, FEATURE_ROWS, FormTable, shorten, word_shape
from bilstm_crf.corpus.vocabulary import Vocabulary, WordVocabulary


def table(*forms: str, longest: int = 6, with_views: bool = True) -> FormTable:
    made = FormTable(
        WordVocabulary(["ab", "0"], ["zz"]),
        Vocabulary("abz"),
        longest=longest,
        with_views=with_views,
    )
    made.extend(forms)
    return made


@pytest.mark.parametrize(
    ("form", "shape"),
    [
        ("Oslo", "Xxxx"),
        ("B-52", "X-dd"),
        ("naïveté", "xxxx"),
        ("ABCDEFg", "XXXXx"),
        ("100000", "dddd"),
        ("東京", "xx"),
        ("", ""),
        ("a" * 5000, "xxxx"),
    ],
)
def test_shape(form: str, shape: str) -> None:
    assert word_shape(form) == shape


def test_a_long_form_keeps_head_and_tail() -> None:
    assert shorten("abcdefg", 7) == "abcdefg"
    assert shorten("abcdefgh", 5) == "abcgh"
    forms = table("ab" * 10, "ab")
    assert forms.num_shortened == 1
    assert forms.num_characters(np.array([0, 1])).tolist() == [6, 2]


@given(st.text(max_size=30), st.integers(1, 12))
def test_a_shortened_form_has_the_length_asked_for(form: str, longest: int) -> None:
    seen = shorten(form, longest)
    assert len(seen) == min(len(form), longest)
    assert form.startswith(seen[: (len(seen) + 1) // 2])


def test_characters_are_padded_with_0_and_unknown_ones_are_1() -> None:
    forms = table("ab", "", "zqa")
    assert forms.characters(np.array([0, 1, 2])).tolist() == [[2, 3, 0], [0, 0, 0], [4, 1, 2]]
    assert forms.characters(np.array([1])).tolist() == [[0]]
    assert forms.characters(np.array([2, 0])).tolist() == [[4, 1, 2], [2, 3, 0]]


def test_words_are_found_by_their_look_up_keys() -> None:
    assert table("AB", "7", "zz", "new").words.tolist() == [1, 2, 3, 0]


@given(st.lists(st.text(max_size=8), max_size=6), st.lists(st.text(max_size=8), max_size=6))
def test_growing_in_parts_gives_the_same_table(first: list[str], second: list[str]) -> None:
    whole, parts = table(*first, *second), table(*first)
    parts.extend(second)
    assert len(parts) == len(whole) == len(first) + len(second)
    numbers = np.arange(len(whole))
    assert np.array_equal(parts.characters(numbers), whole.characters(numbers))
    assert np.array_equal(parts.features, whole.features)
    assert np.array_equal(parts.words, whole.words)


def test_views_tell_prefix_suffix_and_shape_apart() -> None:
    views = table("Going", "going", "doing", "").features
    same = dict(zip(FEATURE_KINDS, (views[0] == views[1]).tolist(), strict=True))
    assert same == {**dict.fromkeys(FEATURE_KINDS, True), "shape": False}
    same = dict(zip(FEATURE_KINDS, (views[1] == views[2]).tolist(), strict=True))
    assert not same["prefix1"]
    assert same["suffix3"]
    assert views.min() >= 1  # row 0 is the padding's
    assert views.max() < FEATURE_ROWS


def test_without_views_all_are_row_0() -> None:
    assert not table("Going", with_views=False).features.any()


def test_views_are_the_same_in_every_process() -> None:
    code = """
from bilstm_crf.corpus.forms import FormTable
from bilstm_crf.corpus.vocabulary import Vocabulary, WordVocabulary
forms = FormTable(WordVocabulary([]), Vocabulary(""), longest=6)
forms.extend(["Stra\u00dfe"])
print(forms.features.tolist())
"""
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert runs == {f"{table('Straße').features.tolist()}\n"}
