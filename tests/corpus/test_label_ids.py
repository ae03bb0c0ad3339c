"""Training labels become ids of the model's labels; malformed ones are repaired or refused."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilstm_crf.corpus.encoding import encode
from bilstm_crf.corpus.label_ids import learn_labels
from bilstm_crf.corpus.labels import SCHEMES, LabelsSection, Span, convert_labels, spans_to_labels
from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.errors import DataError


def sentence(*labels: str, line: int = 1) -> Sentence:
    tokens = tuple("w" for _ in labels)
    return Sentence(tokens, labels, path="train.conll", lines=range(line, line + len(labels)))


def test_ids_are_those_of_the_scheme_of_the_model() -> None:
    corpus = encode([sentence("B-LOC", "I-LOC", "O"), sentence("O", "B-PER")])
    learned = learn_labels(corpus, LabelsSection())
    assert learned.scheme == "BIO"
    assert learned.types == ("LOC", "PER")
    assert learned.labels[0] == "O"
    assert set(learned.labels[1:]) == {f"{p}-{t}" for p in "BIES" for t in ("LOC", "PER")}
    assert list(learned.corpus.sentence_labels()) == [["B-LOC", "E-LOC", "O"], ["O", "S-PER"]]
    assert learned.corpus.forms == corpus.forms


spans = st.lists(
    st.tuples(st.integers(0, 3), st.integers(1, 3), st.sampled_from(["PER", "LOC"])), max_size=3
)


@st.composite
def label_sequences(draw: st.DrawFn, scheme: str) -> list[str]:
    """Return well-formed labels of some entities and the gaps between them."""
    found, at = [], 0
    for gap, length, kind in draw(spans):
        found.append(Span(at + gap, at + gap + length, kind))
        at += gap + length
    return spans_to_labels(found, at + draw(st.integers(0, 2)), scheme)


@pytest.mark.parametrize("scheme", sorted(set(SCHEMES) - {"IO"}))
@given(data=st.data())
def test_what_was_learned_is_what_stood_in_the_file(scheme: str, data: st.DataObject) -> None:
    sequences = data.draw(st.lists(label_sequences(scheme), min_size=1, max_size=5))
    corpus = encode(sentence(*labels) for labels in sequences)
    learned = learn_labels(corpus, LabelsSection(scheme=scheme, model_scheme="BILOU"))
    back = [convert_labels(labels, "BILOU", scheme) for labels in learned.corpus.sentence_labels()]
    assert back == sequences


def test_malformed_labels_are_repaired_counted_and_located(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sentences = [sentence("O", "I-PER", line=7), sentence("B-PER", "I-PER")]
    sentences += [sentence("O", "I-PER", line=line) for line in (20, 30, 40)]
    with caplog.at_level(logging.WARNING):
        learned = learn_labels(encode(sentences), LabelsSection(scheme="BIO"))
    assert list(learned.corpus.sentence_labels())[:2] == [["O", "S-PER"], ["B-PER", "E-PER"]]
    (message,) = caplog.messages
    assert message.startswith("4 of 5 sentences have labels that are malformed in BIO")
    for place in ("train.conll:8", "train.conll:21", "train.conll:31"):
        assert place in message
    assert "train.conll:41" not in message  # the first few are enough


def test_malformed_labels_are_refused_on_request() -> None:
    corpus = encode([sentence("B-PER"), sentence("O", "I-PER", line=7)])
    with pytest.raises(DataError, match=r"train\.conll:8.*labels\.on_invalid: repair"):
        learn_labels(corpus, LabelsSection(scheme="BIO", on_invalid="error"))


def test_well_formed_labels_say_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        learn_labels(encode([sentence("B-PER", "I-PER", "O")]), LabelsSection(on_invalid="error"))
    assert not caplog.messages


def test_without_labels_there_is_nothing_to_learn() -> None:
    with pytest.raises(DataError, match=r"no labels.*data\.label_column"):
        learn_labels(encode([Sentence(("a",))]), LabelsSection())


def test_without_entities_there_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        learned = learn_labels(encode([sentence("O", "O")]), LabelsSection())
    assert learned.labels == ("O",)
    assert "no entities" in caplog.text


def test_more_types_than_a_model_can_have_are_told_before_training() -> None:
    rows = [Sentence((str(n),), (f"B-type{n}",)) for n in range(600)]
    with pytest.raises(
        DataError, match=r"600 entity types .* 2401 labels in BIOES, more than 2000"
    ):
        learn_labels(encode(rows), LabelsSection())
