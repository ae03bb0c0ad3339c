"""A corpus as flat arrays gives back what was put in."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilstm_crf.corpus.encoding import encode
from bilstm_crf.corpus.sentence import Sentence

labelled = st.lists(
    st.lists(st.tuples(st.text(max_size=4), st.sampled_from(["O", "B-X", "I-X"])), max_size=5),
    max_size=8,
)


@given(labelled)
def test_round_trip(sentences: list[list[tuple[str, str]]]) -> None:
    tokens = [[token for token, _ in pairs] for pairs in sentences]
    labels = [[label for _, label in pairs] for pairs in sentences]
    given = (Sentence(tuple(t), tuple(n)) for t, n in zip(tokens, labels, strict=True))
    corpus = encode(given)
    assert list(corpus.sentence_tokens()) == tokens
    assert list(corpus.sentence_labels()) == labels
    assert corpus.lengths.tolist() == [len(t) for t in tokens]
    assert corpus.num_tokens == sum(map(len, tokens))
    assert len(corpus) == len(tokens)
    flat = [token for sentence in tokens for token in sentence]
    assert corpus.form_counts() == {form: flat.count(form) for form in dict.fromkeys(flat)}


def test_ids_are_in_the_order_of_first_appearance() -> None:
    corpus = encode([Sentence(("b", "a"), ("O", "B-X")), Sentence(("a", "c"), ("B-X", "O"))])
    assert corpus.forms == ("b", "a", "c")
    assert corpus.form_ids.tolist() == [0, 1, 1, 2]
    assert corpus.labels == ("O", "B-X")
    assert corpus.form_ids.dtype == np.int32


def test_without_labels() -> None:
    corpus = encode([Sentence(("a", "b"))])
    assert corpus.label_ids is None
    with pytest.raises(ValueError, match="no labels"):
        next(corpus.sentence_labels())


def test_extra_columns_are_numbered_by_themselves() -> None:
    sentences = [Sentence(("a", "b"), features={"pos": ("v", "n"), "other": ("x", "x")})]
    corpus = encode(sentences, ["pos"])
    assert set(corpus.features) == {"pos"}
    values, ids = corpus.features["pos"]
    assert [values[i] for i in ids] == ["v", "n"]


def test_places_name_file_and_line() -> None:
    def sentences() -> Iterator[Sentence]:
        yield Sentence(("a", "b"), path="x.conll", lines=range(3, 5))
        yield Sentence(("a", "b"), path="y.conll", lines=[7, 9])
        yield Sentence(("a",), path="z.json")

    places = encode(sentences()).places
    assert places is not None
    assert places.where(0, 1) == "x.conll:4"
    assert places.where(1, 1) == "y.conll:9"
    assert places.where(2) == "z.json"


def test_other_labels_leave_the_sentences_as_they_are() -> None:
    corpus = encode([Sentence(("a", "b"), ("O", "B-X"))])
    other = corpus.with_labels(["O", "S-X"], np.array([0, 1], dtype=np.int32))
    assert list(other.sentence_labels()) == [["O", "S-X"]]
    assert list(corpus.sentence_labels()) == [["O", "B-X"]]
