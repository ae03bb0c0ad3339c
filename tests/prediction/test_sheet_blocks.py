"""Sheets are labelled sentence by sentence, whatever the pieces they arrive in."""

import csv
import io
from pathlib import Path

import pytest
from random_models import random_model
from trickle import Trickle

from bilstm_crf.corpus.data_section import ReaderSettings
from bilstm_crf.errors import DataError
from bilstm_crf.prediction import line_blocks
from bilstm_crf.prediction.line_aligned import LineAligned
from bilstm_crf.prediction.line_blocks import last_sentence_end, read_blocks
from bilstm_crf.prediction.predictor import Tagger
from bilstm_crf.prediction.questions import Questions
from bilstm_crf.prediction.sheet_blocks import sentence_ends

TAGGER = Tagger(random_model())
PATH = Path("in.csv")
SENTENCES = [["Mira", ",", "Holt"], ["sang"], ['"', "10,000", "of", "Norvale"], ["Mira", "Holt"]]


def sheet(*, repeated: bool, blank_rows: bool = False, end: str = "\n") -> bytes:
    found = io.StringIO()
    writer = csv.writer(found, lineterminator=end)
    writer.writerow(["Sentence #", "Word", "POS"])
    for number, tokens in enumerate(SENTENCES, 1):
        for place, token in enumerate(tokens):
            name = f"Sentence: {number}" if repeated or not place else ""
            writer.writerow(["" if blank_rows else name, token, "x"])
        if blank_rows:
            writer.writerow(["", "", ""])
    return found.getvalue().encode()


def labelled(data: bytes, size: int, *, keep: bool, **asked: bool) -> bytes:
    """Label a stream that comes in pieces and is cut wherever it may be."""
    settings = ReaderSettings()
    aligned = LineAligned(TAGGER, PATH, settings, Questions(**asked), keep_columns=keep)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_blocks, "BLOCK_BYTES", 1)
        ends = sentence_ends(data, settings, PATH)
        blocks = read_blocks(Trickle(data, size), PATH, last_end=ends)
        return b"".join(aligned.add_labels(block)[0] for block in blocks)


FORMS = [
    {"repeated": True},
    {"repeated": False},
    {"repeated": False, "end": "\r\n"},
    {"repeated": False, "blank_rows": True},
]


@pytest.mark.parametrize("size", [3, 17, 100_000])
@pytest.mark.parametrize("form", FORMS)
def test_columns_are_kept_and_the_label_added(form: dict, size: int):
    data = sheet(**form)
    found = labelled(data, size, keep=True).decode()
    rows = list(csv.reader(io.StringIO(data.decode(), newline="")))
    result = list(csv.reader(io.StringIO(found, newline="")))
    labels = iter([label for row in TAGGER.predict_tokens(SENTENCES) for label in row])
    assert result[0] == [*rows[0], "predicted"]
    for row, one in zip(rows[1:], result[1:], strict=True):
        assert one == (([*row, next(labels)]) if any(row) else row)
    assert next(labels, None) is None
    assert found.count("\r\n") == data.count(b"\r\n")


@pytest.mark.parametrize("size", [3, 17, 100_000])
@pytest.mark.parametrize("form", FORMS)
def test_token_lines_have_an_empty_line_between_sentences(form: dict, size: int):
    found = labelled(sheet(**form), size, keep=False).decode()
    header, *lines = found.replace("\r\n", "\n").rstrip("\n").split("\n")
    assert header == "Word\tpredicted"
    wanted = []
    for tokens, labels in zip(SENTENCES, TAGGER.predict_tokens(SENTENCES), strict=True):
        wanted += [f"{token}\t{label}" for token, label in zip(tokens, labels, strict=True)] + [""]
    assert lines == wanted[:-1]


def test_blocks_end_with_a_sentence_and_come_early():
    data = sheet(repeated=False)
    ends = sentence_ends(data, ReaderSettings(), PATH)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_blocks, "BLOCK_BYTES", 1)
        blocks = list(read_blocks(Trickle(data, 20), PATH, last_end=ends))
    assert b"".join(blocks) == data
    assert len(blocks) == 5
    assert all(block.startswith(b"Sentence") for block in blocks)


def test_other_files_are_cut_at_blank_lines():
    for head in (b"Mira O\nsang O\n", b"", b"Mi", b"Word\tTag\nMira\tO\n", b"a\n,\n"):
        assert sentence_ends(head, ReaderSettings(), PATH) is last_sentence_end
    # A column that is not there is told of by the one who reads it.
    settings = ReaderSettings(token_column=7)
    assert sentence_ends(b"Mira O\n", settings, PATH) is last_sentence_end


def test_further_columns_are_named_and_faults_have_their_line():
    found = labelled(sheet(repeated=True), 100, keep=True, token_probabilities=True, marginals=True)
    assert found.startswith(b"Sentence #,Word,POS,predicted,probability,marginals\n")
    assert {len(row) for row in csv.reader(io.StringIO(found.decode()))} == {6}
    data = sheet(repeated=True)
    with pytest.raises(DataError, match=r"in\.csv:12: a quoted cell does not end in its line"):
        labelled(data + b'Sentence: 5,"x\ny",z\n', 1000, keep=True)
    with pytest.raises(DataError, match=r"in\.csv:12: the token 'a\\tb' holds a tab"):
        labelled(data + b'Sentence: 5,"a\tb",z\n', 17, keep=False)


def test_a_table_of_tabs_gets_a_name_for_its_new_column():
    text = b"TOKEN\tNE\nMira\tB-PER\n\nsang\tO\n"
    found = labelled(text, 100, keep=True).split(b"\n")
    assert found[0] == b"TOKEN\tNE\tpredicted"
    assert labelled(text, 100, keep=False).startswith(b"TOKEN\tpredicted\nMira\t")
