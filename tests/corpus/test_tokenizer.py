"""Running text to tokens: the stated rules, true offsets, no character lost, no slow text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilstm_crf.corpus.tokenizer import tokenize


def words(text):
    return [text[start:end] for start, end in tokenize(text)]


@pytest.mark.parametrize(
    "tokens",
    [
        "Mira Holt sang .",
        "@paulwalk It 's the view where I 'm living .",
        "We do n't , you 'll see ; CA N'T ?",
        "O'Neill saw l'homme and rock'n'roll",
        "a mid-to-late opinion-based A-League",
        "The U.S. and the U.K. at 5 p.m. or e.g. bl.a. f.eks. t.v",
        "Dr. No met Mrs. J. R. Tolkien vs. Holt etc. ( Inc. )",
        "10,000 at 7:30 , 1/2 of 3.14 on 2016-01-02",
        "5 % of $ 24",
        "see http://t.co/a,b , ( www.x.org/a_b ) or weather.com !",
        "write to a.b@x.co.uk .",
        "#NFL #MH17 's @name : AT&T &amp; B&SR",
        "wait .... I !! ? ! -- “ yes ” …",
        "ok :) :-( ;P <3 😳 ❤️ 👨\u200d👩\u200d👧 🇩🇰 👍🏽 1️⃣",
        "हिन्दी में می\u200cخواهم naïve e\u0301tude col·lega",
        "東 京 タ ワ ー は 333m で す 。",
        "a_b C3PO x\u00ady",
    ],
)
def test_words_are_cut_by_the_stated_rules(tokens):
    """The text is given as its tokens, so that these must also survive being set apart."""
    assert words(tokens) == tokens.split(" ")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("COX-2 (10.5%), 5'-AMP", "COX - 2 ( 10 . 5 % ) , 5 ' - AMP"),
        ("a_b... U.S. It's", "a _ b . . . U . S . It ' s"),
        ("naïve e\u0301tude 東京 ok👍🏽", "naïve e\u0301tude 東 京 ok 👍🏽"),
    ],
)
def test_parts_have_no_marks_inside(text, tokens):
    assert [text[a:b] for a, b in tokenize(text, "parts")] == tokens.split(" ")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("It's (don't) 'quoted'", "It 's ( do n't ) ' quoted '"),
        ("Sony製。ﾊﾟﾅ「はい」", "Sony 製 。 ﾊﾟ ﾅ 「 は い 」"),
        ("the U.S. won.", "the U.S. won ."),
        ("Plan B. Then", "Plan B. Then"),
        ("plan b. then", "plan b . then"),
        ("he said:no,yes", "he said : no , yes"),
        ("a\u00a0b\u2028c\u3000d", "a b c d"),
        ("x\u200by", "x\u200by"),
        ("yes/no http://a.b/c).", "yes / no http://a.b/c ) ."),
        ("km/h 18+ C++", "km / h 18 + C ++"),
    ],
)
def test_words_that_touch_are_cut(text, tokens):
    assert words(text) == tokens.split(" ")


def test_characters_keep_their_marks_and_joined_emoji():
    text = "東京 e\u0301 हि 👨\u200d👩\u200d👧🇩🇰"
    cut = [text[start:end] for start, end in tokenize(text, "characters")]
    assert cut == ["東", "京", "e\u0301", "हि", "👨\u200d👩\u200d👧", "🇩🇰"]


@given(
    text=st.text(st.characters(exclude_categories=["Cs"])),
    mode=st.sampled_from(["words", "parts", "characters"]),
)
def test_every_character_but_white_space_is_in_one_token(text, mode):
    offsets = tokenize(text, mode)
    covered = [at for start, end in offsets for at in range(start, end)]
    assert covered == sorted(set(covered))
    assert set(range(len(text))) - set(covered) == {
        at for at, character in enumerate(text) if character.isspace()
    }
    assert all(start < end for start, end in offsets)


@given(text=st.text("aA1.,:/'’-@#&;)(<3 é漢か\u0301\u200d😀\n", max_size=40))
def test_tokens_set_apart_by_spaces_do_not_join(text):
    cut = words(text)
    borders = [len(" ".join(cut[:number])) for number in range(1, len(cut))]
    for start, end in tokenize(" ".join(cut)):
        assert not any(start < border < end for border in borders)


@pytest.mark.parametrize(
    "piece",
    [
        "a.",
        "a",
        " ",
        ". ",
        "a-",
        "a@",
        "a'",
        "&",
        ":",
        "'",
        "www.",
        "❤\u200d",
        "1.1",
        "x.com/",
        "A. ",
    ],
)
def test_no_text_takes_more_than_linear_time(piece):
    """100,000 characters of each; a rule that goes back and forth would take minutes."""
    text = piece * (100_000 // len(piece))
    start = time.process_time()
    tokenize(text)
    tokenize(text, "parts")
    tokenize(text, "characters")
    assert time.process_time() - start < 5
