"""Which scheme a corpus is in, from its label sequences."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilstm_crf.corpus.labels import spans_to_labels
from bilstm_crf.corpus.scheme_detection import detect_scheme
from bilstm_crf.corpus.sentence import Span


@pytest.mark.parametrize(
    ("scheme", "sentences"),
    [
        ("IO", ["I-A I-A O", "O I-B"]),
        ("IOB1", ["I-A I-A B-A O I-B"]),
        ("BIO", ["B-A I-A O B-B"]),
        ("BIO", ["B-A O"]),
        ("BIOES", ["S-A O"]),
        ("BIOES", ["B-A I-A E-A S-B"]),
        ("BMES", ["B-A M-A E-A S-B"]),
        ("BILOU", ["B-A I-A L-A U-B"]),
        ("BILOU", ["U-A O"]),
    ],
)
def test_each_scheme_is_known_by_its_marks(scheme, sentences):
    found = detect_scheme(sentence.split() for sentence in sentences)
    assert (found.scheme, found.is_certain) == (scheme, True)


def test_a_few_malformed_beginnings_do_not_turn_bio_into_iob1():
    sequences = [["B-A", "I-A", "O"]] * 20 + [["O", "I-A"]]
    found = detect_scheme(sequences)
    assert (found.scheme, found.is_certain) == ("BIO", False)
    assert "begin 20 times with B-, 1 times with I-" in found.evidence


def test_counts_weigh_as_often_as_they_say():
    counts = Counter({("B-A", "I-A"): 2, ("I-A", "I-A"): 5})
    assert detect_scheme(counts).scheme == "IOB1"
    assert detect_scheme(Counter({("B-A", "I-A"): 5, ("I-A", "I-A"): 2})).scheme == "BIO"


def test_without_entities_it_is_bio_and_says_why():
    found = detect_scheme([["O", "O"], []])
    assert (found.scheme, found.evidence, found.is_certain) == ("BIO", "no entities", False)


@given(scheme=st.sampled_from(["IOB1", "BIO", "BIOES", "BMES", "BILOU"]), data=st.data())
def test_what_was_written_in_a_scheme_is_detected_as_it(scheme, data):
    """With one adjacent pair and one entity of three tokens nothing is ambiguous."""
    telling = spans_to_labels([Span(0, 3, "A"), Span(3, 4, "A"), Span(5, 6, "B")], 7, scheme)
    sentences = [telling]
    for _ in range(data.draw(st.integers(0, 3))):
        start = data.draw(st.integers(0, 4))
        spans = [Span(start, data.draw(st.integers(start + 1, 6)), "C")]
        sentences.append(spans_to_labels(spans, 7, scheme))
    found = detect_scheme(sentences)
    assert (found.scheme, found.is_certain) == (scheme, True)
