"""The scheme table and what follows from it, judged by enumeration and by ``iobes``."""

import itertools

import iobes
import numpy as np
import pytest

from bilstm_crf.corpus.labels import labels_to_spans, spans_to_labels
from bilstm_crf.corpus.schemes import (
    OUTSIDE,
    SCHEMES,
    allowed_transitions,
    is_entity_label,
    is_transition_allowed,
    model_labels,
    scheme_name,
    split_label,
)

ALL_SCHEMES = pytest.mark.parametrize("scheme", SCHEMES)


@pytest.mark.parametrize(
    ("label", "parts"),
    [
        ("O", ("O", "")),
        ("B-PER", ("B", "PER")),
        ("B-LOC-deriv-x", ("B", "LOC-deriv-x")),
        ("I-Multi-tissue_structure", ("I", "Multi-tissue_structure")),
        ("B-B", ("B", "B")),
        ("I-O", ("I", "O")),
        ("S-work.primary", ("S", "work.primary")),
        ("PER", ("", "PER")),
        ("B_PER", ("", "B_PER")),
        ("B-", ("B", "")),
    ],
)
def test_a_label_is_split_at_its_first_hyphen(label, parts):
    assert split_label(label) == parts


def test_another_outside_label_is_known_by_its_name():
    assert split_label("0", outside="0") == ("O", "")
    assert split_label("O", outside="0") == ("", "O")


@pytest.mark.parametrize(
    ("label", "is_one"),
    [("B-PER", True), ("U-x", True), ("M-a-b", True)]
    + [(label, False) for label in ("O", "PER", "B_PER", "B-", "-PER", "X-PER", "b-PER", "")],
)
def test_entity_labels_have_a_known_prefix_and_a_type(label, is_one):
    assert is_entity_label(label) is is_one


@pytest.mark.parametrize(
    ("given", "name"),
    [("bio", "BIO"), ("IOB2", "BIO"), ("iobes", "BIOES"), ("Bilou", "BILOU"), ("BIOUL", "BILOU")],
)
def test_schemes_have_other_names_and_any_case(given, name):
    assert scheme_name(given) == name


def test_an_unknown_scheme_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="unknown label scheme 'BIOX'; known: IO, IOB1, BIO"):
        scheme_name("BIOX")


@pytest.mark.parametrize(
    ("scheme", "labels"),
    [
        ("IO", ["O", "I-A", "I-B"]),
        ("IOB1", ["O", "I-A", "B-A", "I-B", "B-B"]),
        ("BIO", ["O", "B-A", "I-A", "B-B", "I-B"]),
        ("BIOES", ["O", *(f"{p}-{t}" for t in "AB" for p in "BIES")]),
        ("BMES", ["O", *(f"{p}-{t}" for t in "AB" for p in "BMES")]),
        ("BILOU", ["O", *(f"{p}-{t}" for t in "AB" for p in "BILU")]),
    ],
)
def test_model_labels_are_o_and_every_prefix_of_every_sorted_type(scheme, labels):
    assert model_labels(["B", "A", "B"], scheme) == labels


@ALL_SCHEMES
def test_a_sequence_is_allowed_if_and_only_if_entities_make_it(scheme):
    """Enumerates all sequences of up to four labels of two types."""
    labels = model_labels(["A", "B"], scheme)
    num_allowed = 0
    for length in range(5):
        for sequence in itertools.product(labels, repeat=length):
            steps = itertools.pairwise([None, *sequence, None]) if sequence else []
            allowed = all(is_transition_allowed(scheme, one, two) for one, two in steps)
            spans = labels_to_spans(sequence, scheme)
            assert allowed == (list(sequence) == spans_to_labels(spans, length, scheme)), sequence
            num_allowed += allowed
    assert num_allowed > 50


@pytest.mark.parametrize(
    ("scheme", "encoding", "letters"),
    [
        ("IOB1", iobes.SpanEncoding.IOB, {}),
        ("BIO", iobes.SpanEncoding.BIO, {}),
        ("BIOES", iobes.SpanEncoding.IOBES, {}),
        ("BILOU", iobes.SpanEncoding.BILOU, {"U": "U", "L": "L"}),
        ("BMES", iobes.SpanEncoding.BMEOW, {"S": "W"}),
    ],
)
def test_allowed_transitions_agree_with_iobes(scheme, encoding, letters):
    labels = model_labels(["A", "B-C"], scheme)
    theirs = {label: letters.get(label[0], label[0]) + label[1:] for label in labels}
    rows = iobes.transitions_legality(set(theirs.values()), encoding, start="<start>", end="<end>")
    legal = {(row.source, row.target): row.valid for row in rows}
    found = allowed_transitions(labels, scheme)
    for i, one in enumerate(labels):
        assert found.start[i] == legal["<start>", theirs[one]], one
        assert found.end[i] == legal[theirs[one], "<end>"], one
        for j, two in enumerate(labels):
            assert found.pairs[i, j] == legal[theirs[one], theirs[two]], (one, two)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_allowed_transitions_are_those_of_each_pair_of_labels(scheme):
    labels = [*model_labels(["A", "B-C", "D"], scheme), "Q-A", "A"]
    found = allowed_transitions(labels, scheme)
    for i, one in enumerate(labels):
        assert found.start[i] == is_transition_allowed(scheme, None, one)
        assert found.end[i] == is_transition_allowed(scheme, one, None)
        for j, two in enumerate(labels):
            assert found.pairs[i, j] == is_transition_allowed(scheme, one, two), (one, two)


def test_the_allowed_transitions_of_bio_drawn_as_a_table():
    labels = ["O", "B-A", "I-A", "B-B", "I-B"]
    found = allowed_transitions(labels, "bio")
    np.testing.assert_array_equal(found.start, [1, 1, 0, 1, 0])
    np.testing.assert_array_equal(found.end, [1, 1, 1, 1, 1])
    table = [
        # to O B-A I-A B-B I-B
        [1, 1, 0, 1, 0],
        [1, 1, 1, 1, 0],
        [1, 1, 1, 1, 0],
        [1, 1, 0, 1, 1],
        [1, 1, 0, 1, 1],
    ]
    np.testing.assert_array_equal(found.pairs, table)


def test_a_prefix_of_another_scheme_is_never_allowed():
    assert not is_transition_allowed("BIO", "O", "S-A")
    assert not is_transition_allowed("BIO", "S-A", None)


def test_no_labels_give_empty_arrays():
    found = allowed_transitions([], "BIO")
    assert found.start.shape == found.end.shape == (0,)
    assert found.pairs.shape == (0, 0)


def test_outside_alone_may_always_stand():
    assert all(is_transition_allowed(scheme, None, OUTSIDE) for scheme in SCHEMES)
