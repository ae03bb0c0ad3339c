"""Documents keep their text, and every offset points at what it says."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_models import random_model

from bilstm_crf.errors import DataError
from bilstm_crf.prediction.document_output import FORMATS
from bilstm_crf.prediction.documents import Document, JsonLines, LabelledDocument, TextLines
from bilstm_crf.prediction.predictor import Tagger
from bilstm_crf.prediction.questions import Questions
from bilstm_crf.prediction.text_sentences import sentences_of

TAGGER = Tagger(random_model())
PATH = Path("in")
TEXT = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]),
        st.sampled_from(" \t\r\x0b\x0c\x85\u2028\u00a0\u200b.!?。日eMira\u0301👩\u200d🚀\ufe0f"),
    ),
    max_size=40,
)


def cut(text: str) -> list[Any]:
    return sentences_of(text, "words")


def labelled(documents: list[Document], **questions: Any) -> list[LabelledDocument]:
    asked = Questions(**questions)
    return [
        LabelledDocument(one, list(TAGGER.predict_sentences(one.sentences, asked)))
        for one in documents
    ]


def as_jsonl(documents: list[Document], **questions: Any) -> list[dict[str, Any]]:
    text = "".join(FORMATS["jsonl"](labelled(documents, **questions), "BIO"))
    assert text == "" or text.endswith("\n")
    return [json.loads(line) for line in text.split("\n")[:-1]]


@given(TEXT, st.sampled_from(["words", "parts", "characters"]))
def test_every_character_but_white_space_is_in_one_token(text: str, unit: str):
    seen = [0] * len(text)
    for sentence in sentences_of(text, unit):
        assert sentence.text == text
        for token, (start, end) in zip(sentence.tokens, sentence.offsets or (), strict=True):
            assert text[start:end] == token != ""
            for index in range(start, end):
                seen[index] += 1
    for character, count in zip(text, seen, strict=True):
        assert count == 1 or (count == 0 and character.isspace())


@given(st.lists(TEXT, max_size=4))
def test_text_to_jsonl_loses_nothing_and_keeps_offsets_true(texts: list[str]):
    text = "\n".join(texts)
    documents = list(TextLines(PATH, cut).read(text.encode()))
    found = as_jsonl(documents, probabilities=True)
    lines = text.removeprefix("\ufeff").removesuffix("\n").split("\n")
    assert [one["text"] for one in found] == [line.removesuffix("\r") for line in lines]
    for one in found:
        assert list(one) == ["text", "spans"]
        for span in one["spans"]:
            assert list(span) == ["start", "end", "type", "text", "probability"]
            assert one["text"][span["start"] : span["end"]] == span["text"] != ""
            assert span["text"] == span["text"].strip()
            assert 0 <= span["probability"] <= 1


@given(
    st.lists(
        st.dictionaries(
            st.text(max_size=3), st.one_of(st.integers(), st.text(max_size=5)), max_size=2
        ),
        max_size=3,
    ),
    TEXT,
)
def test_other_keys_of_json_are_kept(objects: list[dict[str, Any]], text: str):
    objects = [{**one, "text": text, "id": 7} for one in objects]
    block = "".join(json.dumps(one) + "\n\n" for one in objects).encode()
    found = as_jsonl(list(JsonLines(PATH, cut).read(block)))
    for one, result in zip(objects, found, strict=True):
        spans = result.pop("spans")
        assert result == {key: value for key, value in one.items() if key != "spans"}
        assert all(text[span["start"] : span["end"]] == span["text"] for span in spans)


def test_json_with_tokens_gets_a_text():
    (one,) = JsonLines(PATH, cut).read(b'{"tokens": ["Mira", "Holt", "sang", ""], "id": 1}\n')
    assert one.text == "Mira Holt sang "
    (found,) = as_jsonl([one])
    assert found["tokens"] == ["Mira", "Holt", "sang", ""]
    (one,) = JsonLines(PATH, cut).read(b'{"data": {"text": "Mira sang"}}\n')
    assert one.text == "Mira sang"


def test_half_a_surrogate_pair_passes_through():
    (one,) = JsonLines(PATH, cut).read(b'{"text": "Mira \\ud800 sang"}\n')
    text = "".join(FORMATS["jsonl"](labelled([one]), "BIO"))
    assert json.loads(text.encode())["text"] == "Mira \ud800 sang"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", r"in:2: not JSON: .* column 2"),
        (b"[1]", r"in:2: expected a JSON object, found list"),
        (b'{"a": 1}', r"in:2: expected a 'text' string or a 'tokens' list"),
        (b'{"text": 3}', r"in:2: expected a 'text' string"),
        (b"\xff", r"in:2: byte 0xff at offset 0"),
        (b"[" * 100_000, r"in:2: (not readable|not) JSON"),
    ],
)
def test_a_line_that_is_no_document_is_named(line: bytes, message: str):
    with pytest.raises(DataError, match=message):
        list(JsonLines(PATH, cut).read(b"\n" + line + b"\n"))


def test_lines_are_counted_from_block_to_block():
    reader = TextLines(PATH, cut)
    assert [one.text for one in reader.read(b"\xef\xbb\xbfa\r\n\nb\n")] == ["a", "", "b"]
    with pytest.raises(DataError, match="in:5:"):
        list(reader.read(b"c\n\xff\n"))


@given(st.lists(TEXT.filter(lambda text: "\n" not in text), max_size=3))
def test_marked_text_without_its_marks_is_the_text(texts: list[str]):
    documents = [Document(text, cut(text)) for text in texts]
    marked = "".join(FORMATS["inline"](labelled(documents), "BIO")).split("\n")
    for text, line in zip(texts, marked, strict=False):
        plain = line.replace("\\[", "\ue000").replace("\\]", "\ue001").replace("\\\\", "\ue002")
        if "\\" not in text:
            plain = plain.replace("[PER ", "").replace("[LOC ", "").replace("]", "")
            assert plain.replace("\ue000", "[").replace("\ue001", "]") == text


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_writes_documents_and_none(name: str):
    texts = ["Mira Holt sang in Norvale. <b>日本</b>", ""]
    documents = [Document(text, cut(text)) for text in texts]
    whole = "".join(FORMATS[name](labelled(documents), "BIO"))
    assert "Norvale" in whole
    assert "<b>日本</b>" not in whole or name not in ("html", "tokens")
    assert "Norvale" not in "".join(FORMATS[name]([], "BIO"))
    if name in ("doccano", "prodigy", "jsonl"):
        assert len([json.loads(line) for line in whole.split("\n")[:-1]]) == 2
    if name == "label-studio":
        assert len(json.loads(whole)) == 2
        assert json.loads("".join(FORMATS[name]([], "BIO"))) == []


def test_marginals_and_ranked_paths_in_json():
    text = "Mira Holt sang. It rained."
    (found,) = as_jsonl([Document(text, cut(text))], marginals=True, k_best=2)
    words = ["Mira", "Holt", "sang", ".", "It", "rained", "."]
    assert [one["text"] for one in found["marginals"]] == words
    assert all(0.9 < sum(one["labels"].values()) < 1.01 for one in found["marginals"])
    assert [len(ranked) for ranked in found["k_best"]] == [2, 2]
    for ranked in found["k_best"]:
        for one in ranked:
            assert set(one) == {"probability", "spans"}
            assert all(text[s["start"] : s["end"]] == s["text"] for s in one["spans"])
