"""Token lines come back line by line, byte for byte, with their labels."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_models import random_model

from bilstm_crf.corpus.data_section import ReaderSettings
from bilstm_crf.errors import DataError
from bilstm_crf.prediction.line_aligned import LineAligned
from bilstm_crf.prediction.predictor import Tagger
from bilstm_crf.prediction.questions import Questions

TAGGER = Tagger(random_model())
PATH = Path("in.txt")
TOKEN = st.text(
    st.characters(exclude_characters="\n\t\r\f\v \0#", exclude_categories=["Cs"]), min_size=1
).filter(lambda token: token != "-DOCSTART-" and not token.startswith("\ufeff"))


def labelled(
    data: bytes, *, keep: bool = False, questions: Questions | None = None, **settings: object
) -> bytes:
    aligned = LineAligned(
        TAGGER, PATH, ReaderSettings(**settings), questions or Questions(), keep_columns=keep
    )
    return aligned.add_labels(data)[0]


@given(st.lists(st.lists(TOKEN, max_size=6), max_size=6), st.booleans(), st.integers(0, 2))
def test_labels_are_those_of_the_sentences(
    sentences: list[list[str]], crlf: bool, blank_lines: int
):
    end = "\r\n" if crlf else "\n"
    text = (end * blank_lines) + "".join(
        "".join(token + end for token in tokens) + end for tokens in sentences
    )
    labels = iter([label for row in TAGGER.predict_tokens(sentences) for label in row])
    lines = text.split(end)
    wanted = end.join([f"{line}\t{next(labels)}" if line else "" for line in lines])
    assert labelled(text.encode()).decode() == wanted
    assert next(labels, None) is None


@given(
    st.lists(
        st.sampled_from(
            [
                "Mira",
                "Holt\t",
                "sang x y",
                "",
                " ",
                "\t",
                "# text = Mira",
                "#",
                "#tag",
                "a\r",
                "\r",
                "-DOCSTART-",
                "1-2",
                "\x0b",
                "-DOCSTART- -X- O",
                "é\u2028b",
                "日\u3000本",
                "x\xa0y",
            ]
        ),
        max_size=12,
    ),
    st.booleans(),
)
def test_no_line_is_lost_or_changed(lines: list[str], keep: bool):
    text = "\n".join(lines)
    found = labelled(text.encode(), keep=keep).decode().split("\n")
    assert len(found) == len(text.split("\n"))
    for line, result in zip(text.split("\n"), found, strict=True):
        if result == line:
            continue
        label = re.split("[ \t]", result.rstrip("\r"))[-1]
        assert label in TAGGER.file_labels
        bare = line.rstrip("\r")
        assert result.startswith(bare if keep else bare.split()[0])
        assert result.endswith("\r") == line.endswith("\r")


def test_a_document_mark_and_a_comment_are_kept_and_part_sentences_or_not():
    tokens = ["Mira", "Holt", "sang"]
    apart = [*TAGGER.predict_tokens([tokens[:1]])[0], *TAGGER.predict_tokens([tokens[1:]])[0]]
    together = TAGGER.predict_tokens([tokens])[0]
    for line, labels in (("-DOCSTART- -X- O", apart), ("", apart), ("# text = Mira", together)):
        text = f"Mira\n{line}\nHolt\nsang\n"
        wanted = f"Mira\t{labels[0]}\n{line}\nHolt\t{labels[1]}\nsang\t{labels[2]}\n"
        assert labelled(text.encode()).decode() == wanted


def test_columns_are_dropped_or_kept():
    text = "Mira NNP B-PER\nsang VBD O\n\nHolt  NNP B-PER\n"
    labels = [label for row in TAGGER.predict_tokens([["Mira", "sang"], ["Holt"]]) for label in row]
    first, second, third = labels
    assert labelled(text.encode()) == f"Mira\t{first}\nsang\t{second}\n\nHolt\t{third}\n".encode()
    assert labelled(text.encode(), keep=True) == (
        f"Mira NNP B-PER {first}\nsang VBD O {second}\n\nHolt  NNP B-PER {third}\n".encode()
    )
    tabs = b"B-PER\tMira Holt\tx\nO\tsang\t\n"
    labels = TAGGER.predict_tokens([["Mira Holt", "sang"]])[0]
    wanted = f"B-PER\tMira Holt\tx\t{labels[0]}\nO\tsang\t\t{labels[1]}\n".encode()
    assert labelled(tabs, keep=True, token_column=1) == wanted


def test_numbered_tokens_and_ranges():
    text = "# sent_id = 1\n1-2\tvamos\t_\n1\tMira\tX\n2\tHolt\tY\n2.1\tempty\t_\n\n"
    labels = TAGGER.predict_tokens([["Mira", "Holt"]])[0]
    wanted = (
        f"# sent_id = 1\n1-2\tvamos\t_\n1\tMira\tX\t{labels[0]}\n"
        f"2\tHolt\tY\t{labels[1]}\n2.1\tempty\t_\n\n"
    )
    assert labelled(text.encode(), keep=True).decode() == wanted


def test_a_byte_order_mark_stays_and_is_in_no_token():
    assert labelled(b"\xef\xbb\xbfMira\nsang\n") == b"\xef\xbb\xbf" + labelled(b"Mira\nsang\n")


@pytest.mark.parametrize("token", [b"Zo\xeb", b"\xff"])
def test_a_wrong_byte_is_named_with_its_line(token: bytes):
    with pytest.raises(DataError, match=r"in\.txt:3: byte 0x[0-9a-f]{2} .*--set data\.encoding"):
        labelled(b"Mira\n\n" + token + b"\n")
    # In a column that nobody reads it does no harm.
    assert labelled(b"Mira\t" + token + b"\n", keep=True).startswith(b"Mira\t" + token + b"\t")


def test_probabilities_and_marginals_stand_behind_the_label():
    questions = Questions(token_probabilities=True, marginals=True)
    rows = [
        line.split("\t")
        for line in labelled(b"Mira\nsang\n\nx\n", questions=questions).decode().split("\n")
    ]
    assert [len(row) for row in rows] == [4, 4, 1, 4, 1]
    for _, label, probability, marginals in (rows[0], rows[1], rows[3]):
        values = dict(pair.split("=") for pair in marginals.split("|"))
        assert list(values.values()) == sorted(values.values(), reverse=True)
        assert sum(map(float, values.values())) == pytest.approx(1.0, abs=0.02)
        if label == "O":
            assert probability == values["O"]
        assert 0 < float(probability) <= 1


def test_a_column_the_model_needs(monkeypatch: pytest.MonkeyPatch):
    tagger = Tagger(random_model(columns={"pos": ("N", "V")}))
    settings = ReaderSettings(features=tagger.training_columns)
    aligned = LineAligned(tagger, PATH, settings, Questions())
    assert aligned.add_labels(b"Mira N\nsang V\n")[1] == 2
    with pytest.raises(DataError, match=r"in\.txt:4: 1 column, but the model's 'pos'"):
        aligned.add_labels(b"\nHolt\n")
    with pytest.raises(DataError, match=r"in\.txt: .*'pos'"):
        LineAligned(tagger, PATH, settings, Questions()).add_labels(b"Mira\nsang\n")


def test_a_flag_in_the_last_column_ends_a_sentence():
    text = b"Mira\t_\nHolt\tNoSpaceAfter|EndOfSentence\nsang\t_\nthe\tEndOfSentence\n\nrain\t_\n"
    found = labelled(text, sentence_end="EndOfSentence").decode().split()
    rows = [["Mira", "Holt"], ["sang", "the"], ["rain"]]
    assert found[1::2] == [label for row in TAGGER.predict_tokens(rows) for label in row]
