"""Labels to spans and back, between schemes, malformed ones; judged by seqeval and iobes."""

import iobes
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from seqeval.metrics.sequence_labeling import get_entities

from bilstm_crf.corpus.labels import (
    SCHEMES,
    LabelsSection,
    convert_labels,
    invalid_positions,
    labels_to_spans,
    model_labels,
    repair_labels,
    spans_to_labels,
)
from bilstm_crf.corpus.sentence import Span

LOSSLESS = [name for name in SCHEMES if name != "IO"]
TYPES = ["PER", "LOC-part", "a_b.c"]


@st.composite
def sentences_with_spans(draw, types=TYPES):
    """A length and entities inside it."""
    length = draw(st.integers(0, 12))
    spans, at = [], 0
    while at < length:
        end = draw(st.integers(at + 1, length))
        entity_type = draw(st.sampled_from([None, *types]))
        if entity_type:
            spans.append(Span(at, end, entity_type))
        at = end
    return length, spans


def any_labels(scheme):
    return st.lists(st.sampled_from(model_labels(["A", "B"], scheme)), max_size=9)


@given(scheme=st.sampled_from(LOSSLESS), sentence=sentences_with_spans())
def test_spans_survive_the_way_through_labels(scheme, sentence):
    length, spans = sentence
    labels = spans_to_labels(spans, length, scheme)
    assert len(labels) == length
    assert labels_to_spans(labels, scheme) == spans
    assert invalid_positions(labels, scheme) == []
    assert repair_labels(labels, scheme) == labels


@given(
    source=st.sampled_from(LOSSLESS),
    target=st.sampled_from(LOSSLESS),
    sentence=sentences_with_spans(),
)
def test_any_scheme_to_any_scheme_and_back_loses_nothing(source, target, sentence):
    length, spans = sentence
    labels = spans_to_labels(spans, length, source)
    there = convert_labels(labels, source, target)
    assert there == spans_to_labels(spans, length, target)
    assert convert_labels(there, target, source) == labels


@given(labels=any_labels("BIOES"))
def test_malformed_labels_are_read_as_seqeval_reads_them(labels):
    theirs = [Span(start, end + 1, name) for name, start, end in get_entities(labels)]
    assert labels_to_spans(labels) == theirs


@pytest.mark.parametrize(
    ("scheme", "encoding"),
    [
        ("IOB1", iobes.SpanEncoding.IOB),
        ("BIO", iobes.SpanEncoding.BIO),
        ("BIOES", iobes.SpanEncoding.IOBES),
        ("BILOU", iobes.SpanEncoding.BILOU),
    ],
)
@given(data=st.data())
def test_malformed_labels_are_read_as_iobes_reads_them(scheme, encoding, data):
    labels = data.draw(any_labels(scheme))
    theirs = sorted(iobes.parse_spans(labels, encoding), key=lambda span: span.start)
    assert labels_to_spans(labels, scheme) == [Span(s.start, s.end, s.type) for s in theirs]


@given(scheme=st.sampled_from(list(SCHEMES)), data=st.data())
def test_repaired_labels_are_well_formed_and_keep_their_entities(scheme, data):
    labels = data.draw(any_labels(scheme))
    repaired = repair_labels(labels, scheme)
    assert invalid_positions(repaired, scheme) == []
    assert labels_to_spans(repaired, scheme) == labels_to_spans(labels, scheme)
    assert (repaired == labels) == (invalid_positions(labels, scheme) == [])


def test_iob1_with_adjacent_entities_of_one_type_becomes_bio_and_bioes():
    sentences = [
        ["I-PER", "I-PER", "O", "I-LOC", "B-LOC", "I-LOC", "O"],
        ["I-ORG", "I-PER", "O"],
        ["O", "I-MISC", "B-MISC", "B-MISC"],
    ]
    spans = [labels_to_spans(labels, "IOB1") for labels in sentences]
    assert spans == [
        [Span(0, 2, "PER"), Span(3, 4, "LOC"), Span(4, 6, "LOC")],
        [Span(0, 1, "ORG"), Span(1, 2, "PER")],
        [Span(1, 2, "MISC"), Span(2, 3, "MISC"), Span(3, 4, "MISC")],
    ]
    bio = [" ".join(convert_labels(labels, "IOB1", "BIO")) for labels in sentences]
    assert bio == [
        "B-PER I-PER O B-LOC B-LOC I-LOC O",
        "B-ORG B-PER O",
        "O B-MISC B-MISC B-MISC",
    ]
    bioes = [" ".join(convert_labels(labels, "IOB1", "BIOES")) for labels in sentences]
    assert bioes == [
        "B-PER E-PER O S-LOC B-LOC E-LOC O",
        "S-ORG S-PER O",
        "O S-MISC S-MISC S-MISC",
    ]


def test_two_adjacent_bioes_entities_are_not_one():
    gold = labels_to_spans(["B-M", "E-M", "B-M", "E-M"], "BIOES")
    predicted = labels_to_spans(["B-M", "I-M", "I-M", "E-M"], "BIOES")
    assert gold == [Span(0, 2, "M"), Span(2, 4, "M")]
    assert predicted == [Span(0, 4, "M")]
    assert labels_to_spans(["S-M", "S-M"], "BIOES") == [Span(0, 1, "M"), Span(1, 2, "M")]


def test_io_merges_adjacent_entities_of_one_type():
    labels = convert_labels(["B-A", "B-A", "B-B"], "BIO", "IO")
    assert labels == ["I-A", "I-A", "I-B"]


@pytest.mark.parametrize(
    ("scheme", "labels", "faults"),
    [
        ("BIO", "O I-A", [(1, "I-A continues nothing in BIO")]),
        ("BIO", "B-A I-B", [(1, "I-B continues nothing in BIO")]),
        ("BIO", "S-A", [(0, "S-A: BIO has no prefix 'S'")]),
        ("BIOES", "B-A", [(0, "B-A is not continued or closed in BIOES")]),
        ("BIOES", "B-A O", [(0, "B-A is not continued or closed in BIOES")]),
        (
            "BIOES",
            "B-A I-B O",
            [
                (0, "B-A is not continued or closed in BIOES"),
                (1, "I-B continues nothing in BIOES"),
                (1, "I-B is not continued or closed in BIOES"),
            ],
        ),
        ("BIOES", "S-A E-A", [(1, "E-A continues nothing in BIOES")]),
        ("IOB1", "O B-A", [(1, "B-A continues nothing in IOB1")]),
        ("BILOU", "B-A U-A", [(0, "B-A is not continued or closed in BILOU")]),
    ],
)
def test_what_is_malformed_is_said_at_its_place(scheme, labels, faults):
    assert invalid_positions(labels.split(), scheme) == faults


def test_spans_may_come_in_any_order_but_not_overlap():
    spans = [Span(2, 4, "B"), Span(0, 2, "A")]
    assert spans_to_labels(spans, 5, "BIO") == ["B-A", "I-A", "B-B", "I-B", "O"]
    for wrong in ([Span(0, 2, "A"), Span(1, 3, "B")], [Span(1, 1, "A")], [Span(3, 6, "A")]):
        with pytest.raises(ValueError, match="overlaps another, is empty or leaves"):
            spans_to_labels(wrong, 5, "BIO")


@pytest.mark.parametrize("label", ["B_PER", "PER", "X-PER", "B-", ""])
def test_strings_that_are_no_labels_are_refused(label):
    with pytest.raises(ValueError, match="is not O or a label such as B-PER"):
        labels_to_spans(["O", label])


def test_an_unknown_scheme_is_refused():
    with pytest.raises(ValueError, match="unknown label scheme"):
        labels_to_spans(["O"], "BIOX")


def test_the_section_takes_schemes_by_any_name():
    section = LabelsSection.model_validate({"scheme": "iob2", "model_scheme": "bilou"})
    assert (section.scheme, section.model_scheme) == ("BIO", "BILOU")
    assert LabelsSection().scheme == "auto"
    for wrong in ({"scheme": "BIOX"}, {"model_scheme": "auto"}):
        with pytest.raises(ValidationError, match="unknown label scheme"):
            LabelsSection.model_validate(wrong)
