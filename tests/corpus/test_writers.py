"""Every output format: entities are their text, and what can be read back is the same."""

import html
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilstm_crf.corpus.labels import labels_to_spans, spans_to_labels
from bilstm_crf.corpus.readers import ReaderSettings, read_sentences
from bilstm_crf.corpus.sentence import Sentence, Span
from bilstm_crf.corpus.sentence_text import join_tokens
from bilstm_crf.corpus.writers import WRITERS
from bilstm_crf.errors import DataError

READ_BACK = {"conll": "conll", "jsonl": "jsonl", "doccano": "jsonl", "prodigy": "jsonl",
             "label-studio": "json"}  # fmt: skip
"""Reader of each format that keeps the labels."""
KEEPS_TOKENS = ("conll", "jsonl", "prodigy")

SENTENCE = Sentence(("Mira", "Holt", "sang", "(", "in", "Norvale", ")"))
SPANS = [Span(0, 2, "PER", 0.87654321), Span(5, 6, "LOC-x")]

TOKEN = st.text(
    st.characters(exclude_categories=["Cs", "Zs", "Zl", "Zp", "Cc"], exclude_characters="#"),
    min_size=1, max_size=5,
)  # fmt: skip


@st.composite
def labelled_sentences(draw):
    tokens = draw(st.lists(TOKEN, min_size=1, max_size=8))
    spans, at = [], 0
    while at < len(tokens):
        end = draw(st.integers(at + 1, len(tokens)))
        if draw(st.booleans()):
            spans.append(Span(at, end, draw(st.sampled_from(["PER", "a-b_c"]))))
        at = end
    return Sentence(tuple(tokens)), spans


def written(name, pairs, scheme="BIO"):
    writer = WRITERS[name]
    pieces = [writer.sentence(sentence, spans, scheme) for sentence, spans in pairs]
    return writer.begin + writer.between.join(pieces) + writer.end


@pytest.mark.parametrize("name", READ_BACK)
@given(pairs=st.lists(labelled_sentences(), min_size=1, max_size=4))
def test_what_is_written_is_read_back(name, tmp_path_factory, pairs):
    if any(pair[0].tokens[0] == "-DOCSTART-" for pair in pairs):
        return
    path = tmp_path_factory.getbasetemp() / "written.file"
    path.write_text(written(name, pairs), encoding="utf-8", newline="")
    options = ReaderSettings(format=READ_BACK[name], delimiter="tab", label_column="auto")
    found = list(read_sentences(path, options))
    assert len(found) == len(pairs)
    for sentence, (gold, spans) in zip(found, pairs, strict=True):
        if name in KEEPS_TOKENS:
            assert sentence.tokens == gold.tokens
            assert sentence.labels == tuple(spans_to_labels(spans, len(gold), "BIO"))
        else:
            text, offsets = join_tokens(gold.tokens)
            expected = [(text[offsets[s.start][0] : offsets[s.end - 1][1]], s.type) for s in spans]
            entities = labels_to_spans(sentence.labels)
            assert expected == [
                (
                    sentence.text[sentence.offsets[s.start][0] : sentence.offsets[s.end - 1][1]],
                    s.type,
                )
                for s in entities
            ]


@pytest.mark.parametrize("name", WRITERS)
def test_no_sentences_give_an_empty_document(name):
    text = written(name, [])
    assert text == WRITERS[name].begin + WRITERS[name].end
    if name == "label-studio":
        assert json.loads(text) == []


def test_conll_has_the_extra_columns_and_any_scheme():
    sentence = Sentence(("a", "b"), features={"pos": ("N", "V")})
    assert written("conll", [(sentence, [Span(0, 2, "X")])], "BIOES") == "a\tN\tB-X\nb\tV\tE-X\n\n"


@pytest.mark.parametrize("token", ["a\tb", "a\nb", "\r"])
def test_a_token_that_would_break_a_row_is_refused(token):
    with pytest.raises(DataError, match="cannot stand in a row of columns; write jsonl instead"):
        written("conll", [(Sentence((token,)), [])])


def test_jsonl_gives_text_characters_and_probability():
    (line,) = written("jsonl", [(SENTENCE, SPANS)]).splitlines()
    document = json.loads(line)
    assert document["text"] == "Mira Holt sang ( in Norvale )"
    assert document["spans"] == [
        {"start": 0, "end": 9, "type": "PER", "text": "Mira Holt", "probability": 0.876543},
        {"start": 20, "end": 27, "type": "LOC-x", "text": "Norvale"},
    ]
    assert len(document["tokens"]) == 7


def test_a_sentence_cut_from_a_text_keeps_it():
    text = "Mira  Holt,\u00a0sang"
    offsets = ((0, 4), (6, 10), (10, 11), (12, 16))
    sentence = Sentence(tuple(text[a:b] for a, b in offsets), text=text, offsets=offsets)
    document = json.loads(written("jsonl", [(sentence, [Span(0, 2, "PER")])]))
    assert document == {
        "text": text,
        "spans": [{"start": 0, "end": 10, "type": "PER", "text": "Mira  Holt"}],
    }


def test_inline_marks_brackets_of_the_text():
    text = written("inline", [(SENTENCE, SPANS), (Sentence(("[", "\\", "x]")), [Span(2, 3, "A")])])
    assert text == "[PER Mira Holt] sang ( in [LOC-x Norvale] )\n\\[ \\\\ [A x\\]]\n"


def test_html_escapes_and_marks():
    sentence = Sentence(("<b>", "R&D", "é"))
    text = written("html", [(sentence, [Span(1, 2, '"X"')])])
    (paragraph,) = re.findall(r"<p>(.*)</p>", text)
    assert paragraph == '&lt;b&gt; <mark data-type="&quot;X&quot;">R&amp;D</mark> é'
    assert html.unescape(re.sub("<[^>]*>", "", paragraph)) == "<b> R&D é"


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (["a", "b"], "a b"),
        (["한", " ", "국"], "한 국"),
        (["a", " ", "b"], "a b"),
        (["東", "京", "。", "Sony", "製"], "東京。 Sony 製"),
        (["été", "b"], "été b"),
        ([], ""),
        (["San Rafelo", "x"], "San Rafelo x"),
    ],
)
def test_tokens_are_joined_as_their_script_is_written(tokens, text):
    joined, offsets = join_tokens(tokens)
    assert joined == text
    assert [joined[start:end] for start, end in offsets] == tokens


@given(
    tokens=st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4), max_size=8
    )
)
def test_joined_tokens_are_where_their_offsets_say(tokens):
    text, offsets = join_tokens(tokens)
    assert [text[start:end] for start, end in offsets] == tokens
