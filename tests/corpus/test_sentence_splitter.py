"""Running text to sentences: the stated rules, true offsets, no character lost."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilstm_crf.corpus.tokenizer import split_sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ["Mira sang.", "Rain fell!", "Who?", "So…", "Yes"],
        ['"Really?" she said.', '"No!" he said.', "(It is.)", "“So.”", "End."],
        ["Dr. Holt and Mrs. J. R. Lind met at 5 p.m. in St. Ives.", "It was 1990.", "Then?"],
        ["It cost 3.5 kr. or so.", "Den 3. december.", "No. 5 won."],
        ["what?! no way.", "¿Qué?", "Sí."],
        ["यह है।", "वह है।"],
        ["هل هذا؟", "نعم۔"],
    ],
)
def test_sentences_end_by_the_stated_rules(sentences):
    text = " ".join(sentences)
    assert [text[start:end] for start, end in split_sentences(text)] == sentences


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("今日は。「行こう！」と言った。はい", ["今日は。", "「行こう！」", "と言った。", "はい"]),
        ("no mark\n\nnext one\n \t\nlast", ["no mark", "next one", "last"]),
        ("one\nline break", ["one\nline break"]),
        ("a end. small letters go on", ["a end. small letters go on"]),
        ("a end.\n\nsmall letters", ["a end.", "small letters"]),
        ("  spaced.   Out.  ", ["spaced.", "Out."]),
        ("end.Next", ["end.Next"]),
        ("", []),
        (" \n\n ", []),
    ],
)
def test_sentences_need_no_space_between(text, sentences):
    assert [text[start:end] for start, end in split_sentences(text)] == sentences


@given(text=st.one_of(st.text(), st.text('aA1.!?。」" \n')))
def test_every_character_but_white_space_is_in_one_sentence(text):
    offsets = split_sentences(text)
    covered = [at for start, end in offsets for at in range(start, end)]
    assert covered == sorted(set(covered))
    assert all(text[at].isspace() for at in set(range(len(text))) - set(covered))
    for start, end in offsets:
        assert text[start:end] == text[start:end].strip() != ""


@pytest.mark.parametrize("piece", [".", " ", "\n", "\n ", ". ", "。", "a. ", "!)"])
def test_no_text_takes_more_than_linear_time(piece):
    text = piece * (200_000 // len(piece))
    start = time.process_time()
    split_sentences(text)
    assert time.process_time() - start < 5
