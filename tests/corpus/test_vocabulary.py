"""Vocabularies: ids fixed by frequency and order, words found by their spellings."""

import pytest

from bilstm_crf.corpus.vocabulary import (
    UNKNOWN,
    Vocabulary,
    WordVocabulary,
    lookup_keys,
    training_key,
)


def test_ids_start_behind_the_unknown() -> None:
    vocabulary = Vocabulary(["b", "a"])
    assert [vocabulary.id(s) for s in ("b", "a", "c")] == [1, 2, UNKNOWN]
    assert len(vocabulary) == 3
    assert list(vocabulary) == ["b", "a"]
    assert "c" not in vocabulary


def test_refuses_a_string_twice() -> None:
    with pytest.raises(ValueError, match="twice"):
        Vocabulary(["a", "a"])


def test_the_frequent_come_first_and_equals_in_the_order_given() -> None:
    counts = {"x": 1, "b": 2, "a": 2, "c": 5}
    assert list(Vocabulary.by_frequency(counts)) == ["c", "b", "a", "x"]
    assert list(Vocabulary.by_frequency(counts, min_count=2)) == ["c", "b", "a"]


def test_look_up_keys_go_from_exact_to_general() -> None:
    assert lookup_keys("B-52") == ("B-52", "b-52", "b-00")


def test_a_word_gets_the_row_of_its_first_known_spelling() -> None:
    words = WordVocabulary(["us", "b-00"], ["US", "paris"])
    assert words.num_trained == 3
    assert len(words) == 5
    rows = {form: words.row(form) for form in ("US", "Us", "B-52", "Paris", "Rome")}
    assert rows == {"US": 3, "Us": 1, "B-52": 2, "Paris": 4, "Rome": UNKNOWN}


def test_training_words_share_a_row_unless_vectors_tell_them_apart() -> None:
    assert training_key("THE", {}) == training_key("the", {}) == "the"
    assert training_key("1987", {}) == training_key("1990", {}) == "0000"
    assert training_key("US", {"US": 0, "us": 1}) == "US"
    assert training_key("1987", {"1987"}) == "1987"
