"""Documents in the JSON shapes of annotation tools: offsets, tokens, faults."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilstm_crf.corpus.json_documents import cut_tokens
from bilstm_crf.corpus.labels import labels_to_spans
from bilstm_crf.corpus.readers import ReaderSettings, read_sentences
from bilstm_crf.errors import DataError

TEXT = "Mira Holt sang in Norvale."
PER, LOC = (0, 9, "PER"), (18, 25, "LOC")


def entry(span, start="start", end="end", kind="label"):
    return {start: span[0], end: span[1], kind: span[2]}


SHAPES = {
    "doccano": {"id": 3, "text": TEXT, "label": [list(LOC), list(PER)]},
    "doccano labels": {"text": TEXT, "labels": [list(PER), list(LOC)], "meta": {}},
    "doccano relations": {
        "text": TEXT,
        "entities": [{"id": 1, **entry(one, "start_offset", "end_offset")} for one in (PER, LOC)],
        "relations": [],
    },
    "label studio": {
        "data": {"text": TEXT},
        "annotations": [
            {
                "result": [
                    {"value": {"start": 0, "end": 9, "text": TEXT[:9], "labels": ["PER"]}},
                    {"value": {"choices": ["good"]}},
                    {"value": {"start": 18, "end": 25, "labels": ["LOC"]}},
                ]
            },
            {"result": []},
        ],
    },
    "label studio short": {
        "text": TEXT,
        "label": [{"start": a, "end": b, "labels": [kind]} for a, b, kind in (PER, LOC)],
    },
    "prodigy": {"text": TEXT, "spans": [entry(PER), entry(LOC)]},
    "spacy": [TEXT, {"entities": [list(PER), list(LOC)]}],
    "own": {"text": TEXT, "spans": [{**entry(one, kind="type"), "text": ""} for one in ()]
            + [{"start": 0, "end": 9, "type": "PER", "text": "Mira Holt", "probability": 0.9},
               {"start": 18, "end": 25, "type": "LOC", "text": "Norvale"}]},
    "japanese wikipedia": {
        "curid": "1",
        "text": TEXT,
        "entities": [
            {"name": "Mira Holt", "span": [0, 9], "type": "PER"},
            {"name": "Norvale", "span": [18, 25], "type": "LOC"},
        ],
    },
    "tokens": {
        "tokens": ["Mira", "Holt", "sang", "in", "Norvale", "."],
        "ner_tags": ["B-PER", "I-PER", "O", "O", "B-LOC", "O"],
    },
}  # fmt: skip


@pytest.fixture
def read(tmp_path):
    def read(*documents, array=False, labelled=True, listener=None, **options):
        path = tmp_path / "file.json"
        lines = [one if isinstance(one, str) else json.dumps(one) for one in documents]
        text = "[\n" + ",\n".join(lines) + "\n]\n" if array else "".join(f"{o}\n" for o in lines)
        path.write_text(text)
        found = read_sentences(
            path, ReaderSettings(**options), labelled=labelled, listener=listener
        )
        return list(found)

    return read


@pytest.mark.parametrize("array", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_gives_the_same_sentence(read, shape, array):
    found = read(SHAPES[shape], SHAPES[shape], array=array)
    assert len(found) == 2
    for number, sentence in enumerate(found):
        assert sentence.tokens == ("Mira", "Holt", "sang", "in", "Norvale", ".")
        assert sentence.labels == ("B-PER", "I-PER", "O", "O", "B-LOC", "O")
        assert set(sentence.lines) == {number + 1 + array}


def test_one_document_over_several_lines_is_read(read):
    (found,) = read(json.dumps(SHAPES["prodigy"], indent=1))
    assert found.labels == ("B-PER", "I-PER", "O", "O", "B-LOC", "O")


@pytest.mark.parametrize("unit", ["words", "characters"])
def test_tokens_are_cut_where_an_entity_begins_or_ends(read, unit):
    text = "東京都の人がUSA-Japanを見た"
    spans = [[0, 3, "LOC"], [6, 9, "LOC"], [10, 15, "LOC"]]
    (found,) = read({"text": text, "label": spans}, tokens=unit)
    assert "".join(found.tokens) == text
    entities = labels_to_spans(found.labels)
    cut = [(found.offsets[s.start][0], found.offsets[s.end - 1][1], s.type) for s in entities]
    assert cut == [tuple(span) for span in spans]


@given(data=st.data())
def test_entities_are_their_text_whatever_the_text(tmp_path_factory, data):
    text = data.draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
    borders = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    pairs = list(zip(borders[::2], borders[1::2], strict=False))
    spans = [[a, b, "X"] for a, b in pairs if text[a:b].strip()]
    path = tmp_path_factory.getbasetemp() / "entities.jsonl"
    path.write_text(json.dumps({"text": text, "label": spans}) + "\n")
    split = data.draw(st.booleans())
    settings = ReaderSettings(format="jsonl", split_sentences=split)
    found = []
    for sentence in read_sentences(path, settings):
        for span in labels_to_spans(sentence.labels):
            start, end = sentence.offsets[span.start][0], sentence.offsets[span.end - 1][1]
            found.append(sentence.text[start:end])
    assert found == [text[a:b].strip() for a, b, _ in spans]


def test_tokens_given_by_offsets_are_kept(read):
    document = {"text": "don't go", "spans": [entry((6, 8, "X"))]}
    (found,) = read({**document, "tokens": [[0, 5], [6, 8]]})
    assert found.tokens == ("don't", "go")
    (found,) = read({**document, "tokens": [{"start": 0, "end": 5}, {"start": 6, "end": 8}]})
    assert found.tokens == ("don't", "go")
    (found,) = read({**document, "tokens": ["don't", "go"]})
    assert (found.tokens, found.labels) == (("don't", "go"), ("O", "B-X"))
    for unusable in ([[0, 5]], [[0, 9]], [[3, 8], [0, 2]], ["x"], [[0]], [[0.0, 1.0]]):
        (found,) = read({**document, "tokens": unusable, "spans": [entry((6, 8, "X"))]})
        assert found.tokens[-1] == "go"


def test_texts_are_split_into_sentences_but_not_inside_an_entity(read):
    text = "He met Dr. No. 5 in May. It rained."
    document = {"text": text, "spans": [entry((7, 16, "PER"))]}
    found = read(document, split_sentences=True)
    assert [sentence.text for sentence in found] == ["He met Dr. No. 5 in May.", "It rained."]
    inside = {"text": "See A. B. C? D", "spans": [entry((4, 14, "X"))]}
    assert [s.text for s in read(inside, split_sentences=True)] == ["See A. B. C? D"]


def test_a_sentence_border_inside_a_token_cuts_it(read):
    found = read({"text": "http://a.b/。c d", "spans": []}, split_sentences=True)
    assert [s.text for s in found] == ["http://a.b/。", "c d"]
    assert all(s.offsets[-1][1] <= len(s.text) for s in found)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("{nope}", "not JSON: "),
        ('{"text": "a"} {}', "more text after the end of the JSON document"),
        ("[1, 2]", "a JSON object is needed, found list"),
        ({"txt": "a"}, "neither a 'text' string nor a 'tokens' list"),
        ({"text": "a"}, "no list of entities (spans, entities, label"),
        ({"text": "a", "label": [[0, "1", "X"]]}, "cannot find start, end and type of the entity"),
        ({"text": "a", "label": ["X"]}, "cannot find start, end and type of the entity 'X'"),
        ({"text": "ab", "label": [[1, 3, "X"]]}, "entity X at 1-3 is not in the text"),
        ({"text": "ab", "label": [[1, 1, "X"]]}, "entity X at 1-1 is not in the text"),
        ({"text": "a b", "label": [[1, 2, "X"]]}, "entity X at 1-2 is not in the text"),
        ({"text": "abc", "label": [[0, 2, "X"], [1, 3, "Y"]]}, "entity Y at 1-3 overlaps X at 0-2"),
        ({"text": "ab", "spans": [{**entry((0, 1, "X")), "text": "b"}]}, "but 'b' in its"),
        ({"tokens": ["a"], "labels": ["O", "O"]}, "1 tokens but 2 labels"),
        ({"tokens": ["a"]}, "tokens without a list of labels"),
        ({"tokens": ["a"], "ner_tags": [3]}, "3 in 'ner_tags' is no label such as B-PER or O"),
        ({"tokens": ["a"], "tags": ["PER"]}, "'PER' in 'tags' is no label"),
    ],
)  # fmt: skip
def test_faults_are_named_with_their_line(read, document, message):
    with pytest.raises(DataError) as caught:
        read({"text": "fine", "spans": []}, document, format="jsonl")
    assert caught.value.line == 2
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('[\n{"text": "a", "spans": []},\n\n{"text": 1}\n]', 4, "neither"),
        ('[\n{"text": "a", "spans": []}\n{"text": "b", "spans": []}\n]', 3, ", or ] expected"),
        ('[\n{"text": "a", "spans": []},\n]', 3, "not JSON: Expecting value"),
        ('[\n{"text": "a", "spans": []}\n] x', 3, "more text after the end of the JSON array"),
        ('[\n{"text": "a",\n "spans"}]', 3, "not JSON"),
        ('[{"text": "a", "spans": []}', 1, ", or ] expected"),
    ],
)
def test_faults_of_an_array_are_named_with_their_line(tmp_path, text, line, message):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        list(read_sentences(path, ReaderSettings(format="json")))
    assert (caught.value.line, message in str(caught.value)) == (line, True)


def test_entities_are_mended_by_stated_rules(read):
    faults = []
    document = {"text": "ab cd ef", "label": [[0, 2, "A"], [0, 5, "B"], [5, 8, "C"], [7, 99, "D"]]}
    (found,) = read(document, on_malformed="repair", listener=faults.append)
    assert labels_to_spans(found.labels)[0].type == "B"
    assert [span.type for span in labels_to_spans(found.labels)] == ["B", "C"]
    assert found.tokens == ("ab", "cd", "ef")
    assert [fault.kind for fault in faults] == [
        "an entity outside its text",
        "overlapping entities",
    ]


def test_half_surrogate_pairs_become_replacement_characters(read):
    (found,) = read('{"text": "a\\ud800b \\ud83d\\ude00", "label": [[0, 3, "\\udfffX"]]}')
    assert found.tokens[-1] == "😀"
    assert found.text == "a\ufffdb 😀"
    assert labels_to_spans(found.labels)[0].type == "\ufffdX"


def test_without_labels_only_the_text_is_needed(read):
    (found,) = read({"text": "Mira sang"}, labelled=False)
    assert (found.tokens, found.labels) == (("Mira", "sang"), None)
    assert read({"text": ""}, {"tokens": []}, labelled=False) == []


@given(data=st.data())
def test_cutting_tokens_keeps_what_they_cover(data):
    numbers = sorted(data.draw(st.sets(st.integers(0, 30), max_size=12)))
    tokens = list(zip(numbers[::2], numbers[1::2], strict=False))
    borders = sorted(data.draw(st.sets(st.integers(0, 30), max_size=6)))
    cut = cut_tokens(tokens, borders)

    def covered(pairs):
        return [at for start, end in pairs for at in range(start, end)]

    assert covered(cut) == covered(tokens)
    assert not any(start < border < end for start, end in cut for border in borders)
    assert all(start < end for start, end in cut)
