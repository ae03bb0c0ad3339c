"""Exports of spreadsheets: quoted cells, numbered sentences, and what must not pass for one."""

import csv
import io
import logging
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilstm_crf.corpus.checks import check_corpus
from bilstm_crf.corpus.layout_detection import detect_layout
from bilstm_crf.corpus.mended_file import mended_text
from bilstm_crf.corpus.readers import ReaderSettings, detect_format, inspect_file, read_sentences
from bilstm_crf.errors import DataError

# The form of Kaggle's "annotated corpus for NER", with the tokens that need care.
FIRST_ROW_ONLY = '''Sentence #,Word,POS,Tag
Sentence: 1,Thousands,NNS,O
,of,IN,O
,",",",",O
,"""",``,O
,"10,000",CD,O
,London,NNP,B-geo
Sentence: 2,Iran,NNP,B-geo
,;,:,O
,#,#,O
Sentence: 3,Rain,NN,O
'''
TOKENS = [
    ("Thousands", "of", ",", '"', "10,000", "London"),
    ("Iran", ";", "#"),
    ("Rain",),
]
LABELS = [("O", "O", "O", "O", "O", "B-geo"), ("B-geo", "O", "O"), ("O",)]


def every_row(text: str, delimiter: str = ",") -> str:
    """Repeat the number of a sentence in each of its rows, and write with another delimiter."""
    header, *rows = csv.reader(io.StringIO(text))
    found = io.StringIO()
    writer = csv.writer(found, delimiter=delimiter, lineterminator="\n")
    writer.writerow(header)
    number = ""
    for row in rows:
        number = row[0] or number
        writer.writerow([number, *row[1:]])
    return found.getvalue()


@pytest.fixture
def write(tmp_path):
    def write(text, name="sheet.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


@pytest.mark.parametrize(
    "text",
    [
        FIRST_ROW_ONLY,
        FIRST_ROW_ONLY.replace("\n", "\r\n"),
        "\ufeff" + FIRST_ROW_ONLY,
        every_row(FIRST_ROW_ONLY),
        every_row(FIRST_ROW_ONLY, ";"),
        every_row(FIRST_ROW_ONLY, "\t"),
        every_row(FIRST_ROW_ONLY).replace("Sentence: ", "").replace("Sentence #", "sentence_idx"),
        FIRST_ROW_ONLY.partition("\n")[2],
        # an index column of pandas, and columns of spare cells
        "\n".join(f"{n or ''},{row}" for n, row in enumerate(FIRST_ROW_ONLY.strip().split("\n"))),
        "\n".join(row + "," * 3 for row in FIRST_ROW_ONLY.strip().split("\n")),
    ],
)
def test_sheets_with_numbered_sentences_are_read_as_they_come(write, text):
    found = list(read_sentences(write(text)))
    assert [one.tokens for one in found] == TOKENS
    assert [one.labels for one in found] == LABELS
    first = 2 if "Word" in text else 1
    assert [list(one.lines) for one in found] == [
        list(range(first, first + 6)),
        list(range(first + 6, first + 9)),
        [first + 9],
    ]


@pytest.mark.parametrize(
    ("header", "token", "label"),
    [
        ("Token,NER", 0, 1),
        ("FORM,Label", 0, 1),
        ("tag,word", 1, 0),
        ("word,prev-iob,tag", 0, 2),
        ("sent_id;Words;ner_tags", 1, 2),
    ],
)
def test_columns_are_found_by_their_names(write, header, token, label):
    delimiter = ";" if ";" in header else ","
    rows = [header]
    for number, (word, tag) in enumerate(
        [("Mira", "B-PER"), ("sang", "O"), (",", "O"), ("x", "O")]
    ):
        cells = ["1" if "sent_id" in header else "O"] * (header.count(delimiter) + 1)
        cells[token], cells[label] = f'"{word}"' if word == "," else word, tag
        rows += [""] * (number == 2) + [delimiter.join(cells)]
    found = list(read_sentences(write("\n".join(rows))))
    assert [one.tokens for one in found] == [("Mira", "sang"), (",", "x")]
    assert [one.labels for one in found] == [("B-PER", "O"), ("O", "O")]


def test_blank_rows_of_a_sheet_part_sentences(write):
    found = list(read_sentences(write("word,pos,tag\nMira,N,B-PER\n,,\nsang,V,O\n , ,\n\nx,N,O\n")))
    assert [one.tokens for one in found] == [("Mira",), ("sang",), ("x",)]


def test_what_was_found_is_said_and_can_be_fixed(write, caplog):
    path = write(FIRST_ROW_ONLY)
    with caplog.at_level(logging.INFO):
        list(read_sentences(path))
    assert "4 columns by ','" in caplog.text
    assert "cells in quotes, sentence numbers in column 0" in caplog.text
    (one,) = read_sentences(path, ReaderSettings(sentence_column="none"))
    assert len(one) == 10
    found = list(read_sentences(path, ReaderSettings(sentence_column="POS", label_column=3)))
    assert found[0].tokens == ("Thousands",)
    plain = write('w,t\n",O\nx,B-P\n')
    with pytest.raises(DataError, match=r"sheet\.csv:2: a quoted cell does not end .*data\.quotes"):
        list(read_sentences(plain, ReaderSettings(delimiter=",", header=True, quotes=True)))
    (one,) = read_sentences(plain, ReaderSettings(delimiter=",", header=True, quotes=False))
    assert one.tokens == ('"', "x")
    (one,) = read_sentences(plain, ReaderSettings(delimiter=",", header=True))
    assert one.tokens == ('"', "x"), "a lone quote is a token, where no cell is in quotes"
    with pytest.raises(DataError, match="no column is named 'Satz'"):
        list(read_sentences(path, ReaderSettings(sentence_column="Satz")))


def test_a_line_end_inside_a_cell_is_named_with_its_line(write):
    text = FIRST_ROW_ONLY + ',"two\nlines",NN,O\n,x,NN,O\n'
    with pytest.raises(DataError, match=r"sheet\.csv:12: a quoted cell does not end in its line"):
        list(read_sentences(write(text)))
    with pytest.raises(DataError, match=r"sheet\.csv:3: cells in quotes are malformed"):
        list(read_sentences(write('word,tag\n",",O\n"a"b,O\nc,O\n"""",O\n')))
    faults = []
    settings = ReaderSettings(on_malformed="repair")
    found = list(read_sentences(write(text), settings, listener=faults.append))
    assert [fault.line for fault in faults if "quotes" in fault.kind] == [12]
    assert {fault.line for fault in faults} == {12, 13}
    assert found[-1].tokens[-1] == "x"


def test_the_sheet_in_the_encoding_of_its_time(write):
    text = every_row(FIRST_ROW_ONLY).replace("Rain", "Café")
    with pytest.raises(DataError, match=r"sheet\.csv:11: byte 0xe9 .*cp1252"):
        list(read_sentences(write(text.encode("cp1252"))))
    found = list(read_sentences(write(text.encode("cp1252")), ReaderSettings(encoding="cp1252")))
    assert found[-1].tokens == ("Café",)


CELL = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), min_size=1)
# A token of white space alone is one for the reader of columns too, but a sheet's blank cell.
TOKEN = CELL.filter(lambda token: token.strip(" \t\r\f\v") and not token.startswith("-DOCSTART-"))


@given(
    sentences=st.lists(st.lists(TOKEN, min_size=1, max_size=5), min_size=1, max_size=5),
    delimiter=st.sampled_from(",;"),
    repeated=st.booleans(),
)
def test_what_a_spreadsheet_writes_is_what_is_read(
    tmp_path_factory, sentences, delimiter, repeated
):
    path = tmp_path_factory.mktemp("sheet") / "sheet.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter=delimiter)
        writer.writerow(["Sentence #", "Word", "Tag"])
        for number, tokens in enumerate(sentences):
            for place, token in enumerate(tokens):
                writer.writerow([f"{number}" if repeated or not place else "", token, "O"])
    settings = ReaderSettings(sentence_column=0)  # one token a sentence: numbers say nothing
    found = list(read_sentences(path, settings))
    assert [list(one.tokens) for one in found] == sentences


PUNCTUATION = st.text(st.sampled_from(',;"ab.'), min_size=1, max_size=4)


@given(
    st.lists(st.tuples(PUNCTUATION, st.sampled_from(["O", "B-PER", "I-PER"])), min_size=1),
    st.sampled_from([" ", "\t"]),
)
def test_tokens_of_commas_and_quotes_make_no_sheet(rows, delimiter):
    text = "".join(f"{token}{delimiter}{label}\n" for token, label in rows)
    layout = detect_layout(text, ReaderSettings(), Path("some.conll"))
    assert (layout.width, layout.token, layout.label) == (2, 0, 1)
    raw = any(
        token.count('"') % 2 or not token.startswith('"') for token, _ in rows if '"' in token
    )
    if delimiter == " " or raw or not any('"""' in token for token, _ in rows):
        assert not layout.is_sheet


def test_no_published_corpus_passes_for_a_sheet(corpora):
    files = [
        path
        for path in corpora("wnut17").parent.rglob("*")
        if path.suffix in (".conll", ".tsv", ".txt", ".iob2") and "vectors" not in path.parts
    ]
    assert len(files) > 10
    for path in files:
        for labelled in (True, False):
            layout = inspect_file(path, labelled=labelled)[1]
            assert layout is None or (not layout.is_sheet and layout.delimiter in "\t "), path


@pytest.mark.parametrize(
    "text",
    [
        "1,5\n2,5\n3,25\n",
        "a,b\nc\nd,e\n",
        "Mira sang, then left\nHolt came, and\nrain, too\n",
        "word,\nand\n",
        ",\n;\n,\n",
    ],
)
def test_tokens_without_labels_are_not_cut_at_their_commas(text):
    layout = detect_layout(text, ReaderSettings(), Path("some.txt"), labelled=False)
    assert layout.delimiter not in (",", ";")


def test_a_sheet_without_labels(write):
    path = write("Word,POS\nMira,NNP\nin London,NN\nsang,VBD\n")
    (found,) = read_sentences(path, labelled=False)
    assert found.tokens == ("Mira", "in London", "sang")
    assert detect_format("the,DT\nrain,NN\nfell,VBD\n", labelled=False) == "conll"


def test_a_row_of_commas_that_is_no_row_says_how_to_read_it(write):
    with pytest.raises(DataError, match=r"set apart by ',': data\.delimiter: ','"):
        list(read_sentences(write("Wort,Art\nhier,unbekannt\n")))


def test_the_doctor_reads_and_mends_a_sheet(write, tmp_path):
    path = write(FIRST_ROW_ONLY.replace("B-geo\n,;", "I-geo\n,;"))
    result = check_corpus([("train", path)])
    assert result.files[0].num_sentences == 3
    (fault,) = [one for one in result.findings if one.severity == "error"]
    assert fault.places[0].line == 8
    mended = "".join(mended_text(path, ReaderSettings(), "BIO"))
    assert mended == FIRST_ROW_ONLY
