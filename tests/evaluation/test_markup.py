from hypothesis import given
from hypothesis import strategies as st

from bilstm_crf.corpus.sentence import Span
from bilstm_crf.evaluation.markup import (
    MarkedText,
    Piece,
    TypeColours,
    cut_at_entities,
    join_tokens,
    mark_up_html,
)

texts = st.text(max_size=12)
spans = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 12), st.sampled_from("AB")), max_size=4
)


def test_text_is_cut_at_its_entities():
    marked = MarkedText("in New York now", [Span(3, 11, "LOC", 0.5)])
    assert cut_at_entities(marked) == [
        Piece("in "),
        Piece("New York", "LOC", 0.5),
        Piece(" now"),
    ]


@given(text=texts, bounds=spans)
def test_no_character_is_lost_or_doubled(text: str, bounds: list[tuple[int, int, str]]):
    found = [Span(a, b, t) for a, b, t in bounds if a < b <= len(text)]
    pieces = cut_at_entities(MarkedText(text, found))
    assert "".join(piece.text for piece in pieces) == text
    assert bool(found) == any(piece.type for piece in pieces)


def test_tokens_are_joined_and_entities_follow():
    marked = join_tokens(["in", "New", "York"], [(1, 3, "LOC")], {(1, 3, "LOC"): 0.25})
    assert marked == MarkedText("in New York", [Span(3, 11, "LOC", 0.25)])


def test_page_marks_entities_and_escapes_text():
    texts = [MarkedText("a <b> Bo & Co", [Span(6, 13, "ORG", 0.75)]), MarkedText("", [])]
    page = "".join(mark_up_html(texts, title="<mine>"))
    assert "a &lt;b&gt; <mark" in page
    assert ">Bo &amp; Co<small>ORG</small></mark>" in page
    assert 'title="ORG, probability 0.750"' in page
    assert "<title>&lt;mine&gt;</title>" in page
    assert "<script" not in page


def test_a_stream_is_read_one_text_at_a_time():
    taken = []

    def stream():
        for number in range(3):
            taken.append(number)
            yield MarkedText(f"text {number}", [])

    pages = mark_up_html(stream())
    seen = ""
    while "text 0" not in seen:
        seen += next(pages)
    assert taken == [0]


def test_types_keep_their_colour_and_differ():
    hue = TypeColours(["A"])
    first = hue("A")
    assert hue("B") != first
    assert hue("A") == first
    assert len({hue(str(number)) for number in range(20)}) == 20
