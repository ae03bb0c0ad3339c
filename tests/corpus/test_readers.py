"""Formats told apart, files by pattern, settings; and any bytes into any reader."""

import gzip
import json
import logging

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from bilstm_crf.corpus.labels import LabelsSection
from bilstm_crf.corpus.readers import (
    READERS,
    DataSection,
    ReaderSettings,
    detect_format,
    expand_paths,
    inspect_file,
    read_sentences,
    read_split,
)
from bilstm_crf.errors import DataError

DOCCANO = '{"text": "Mira sang", "label": [[0, 4, "PER"]]}\n'


@pytest.mark.parametrize(
    ("head", "labelled", "name"),
    [
        ("Mira B-PER\n", True, "conll"),
        ("", True, "conll"),
        ("", False, "conll"),
        (DOCCANO * 2, True, "jsonl"),
        (DOCCANO, True, "jsonl"),
        ('["Mira sang", {"entities": [[0, 4, "PER"]]}]\n', True, "jsonl"),
        (json.dumps([{"text": "a", "spans": []}]), True, "json"),
        (json.dumps([{"text": "a", "spans": []}], indent=2), True, "json"),
        (json.dumps({"text": "a", "spans": []}, indent=2), True, "json"),
        ("[\n{}\n", True, "json"),
        ("[\tO\n1\tO\n]\tO\n", True, "conll"),
        ("[\nMira\n]\n", False, "conll"),
        ("{ O\n", True, "conll"),
        ('" O\n', True, "conll"),
        ("Mira sang in the old town.\nRain fell.\n", False, "text"),
        ("one sentence alone that has more than nine words in it\n", False, "text"),
        ("Mira\nsang\n\nRain\n", False, "conll"),
        ("Mira NNP\nsang VBD\n\nRain NN\n", False, "conll"),
        ("Mira sang\tin the old town\n", False, "conll"),
    ],
)
def test_formats_are_told_apart_by_their_beginning(head, labelled, name):
    assert detect_format(head, labelled=labelled) == name


def test_how_a_file_is_read_is_said_in_the_log(tmp_path, caplog):
    path = tmp_path / "a.conll"
    path.write_text("a X O\nb Y B-P\n")
    with caplog.at_level(logging.INFO):
        list(read_sentences(path))
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}: read as conll: 3 columns by spaces, tokens in column 0, labels in column 2"
    ]


@pytest.mark.parametrize(
    ("text", "described"),
    [
        ("O\tMira\nB-X\tHolt\n", "2 columns by tab, tokens in column 1, labels in column 0"),
        (
            "a N I-NP B-PER\nb V O O\n",
            "4 columns by spaces, tokens in column 0, labels in column 3",
        ),
        (
            "TOKEN\tNE-COARSE\tNE-FINE\tX\n# key = value\na\tB-p\tB-p.q\t_\nb\tO\tO\t_\n",
            "4 columns by tab, tokens in column 0, labels in column 1, header row",
        ),
        (
            "id\tword\ttag\n7\ta\tO\n9\tb\tB-P\n",
            "3 columns by tab, tokens in column 1, labels in column 2, header row",
        ),
        (
            "# id = 1\n1\ta\tO\t-\t-\n2\tb\tB-P\t-\t-\n",
            "5 columns by tab, tokens in column 1, labels in column 2",
        ),
        (
            "# global.columns = ID FORM UPOS X:NE\n1\ta\tN\tO\n2\tb\tN\tB-P\n",
            "4 columns by tab, tokens in column 1, labels in column 3",
        ),
        (
            "a 0\nb PER\nc 0\n",
            "2 columns by spaces, tokens in column 0, labels in column 1, bare types, "
            "outside label '0'",
        ),
        ("a\tO\t\nb\tB-P\t\n", "2 columns by tab, tokens in column 0, labels in column 1"),
    ],
)  # fmt: skip
def test_columns_are_found(tmp_path, text, described):
    path = tmp_path / "a.tsv"
    path.write_text(text)
    name, layout = inspect_file(path)
    assert (name, layout.describe()) == ("conll", described)
    assert len(next(read_sentences(path))) in (2, 3)


def test_columns_may_be_given_by_number_and_by_name(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("token\tfine\tcoarse\na\tB-x.y\tB-x\nb\tO\tO\n")

    def labels(**options):
        return next(read_sentences(path, ReaderSettings(**options))).labels

    assert labels(label_column="coarse") == labels(label_column=-1) == ("B-x", "O")
    assert labels(label_column="fine") == labels(label_column=1) == ("B-x.y", "O")
    with pytest.raises(DataError, match=r"no column is named 'mid' \(token, fine, coarse\)"):
        labels(label_column="mid")
    with pytest.raises(DataError, match="rows have 3 columns, so there is no column 3"):
        labels(label_column=3)


def test_any_single_delimiter_will_do(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("Mira,B-PER\nsang,O\n")
    (found,) = read_sentences(path, ReaderSettings(delimiter=","))
    assert (found.tokens, found.labels) == (("Mira", "sang"), ("B-PER", "O"))


def test_several_files_and_patterns_are_read_in_order(tmp_path):
    for name in ("b.conll", "a.conll"):
        (tmp_path / name).write_text(f"{name} O\n")
    (tmp_path / "c.gz").write_bytes(gzip.compress(b"c O\n"))
    section = DataSection(train=["c.gz", "*.conll"], dev="b.conll").resolve(tmp_path)
    paths = section.files("train")
    assert [path.name for path in paths] == ["c.gz", "a.conll", "b.conll"]
    assert [s.tokens[0] for s in read_split(paths)] == ["c", "a.conll", "b.conll"]
    assert section.files("dev") == [tmp_path / "b.conll"]
    assert section.files("test") == []


def test_missing_files_are_named_in_full(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=rf"{tmp_path}/no\.conll: no such file \(data\.train\)"):
        DataSection(train="no.conll").files("train")
    with pytest.raises(DataError, match="is a folder"):
        expand_paths([str(tmp_path)])
    with pytest.raises(DataError, match=r"\*\.x: no file matches this pattern"):
        expand_paths(["*.x"])


def test_brackets_in_a_real_name_are_no_pattern(tmp_path):
    path = tmp_path / "a[1].conll"
    path.write_text("a O\n")
    assert expand_paths([str(path)]) == [path]


def test_the_sections_give_the_readers_all_they_need():
    data = DataSection.model_validate({"label_column": -1, "features": {"pos": 1}})
    found = data.reader_settings(LabelsSection(outside="0", bare_types=True))
    assert found == ReaderSettings(
        label_column=-1, features={"pos": 1}, outside="0", bare_types=True
    )
    assert DataSection().reader_settings() == ReaderSettings()
    with pytest.raises(ValidationError):
        DataSection.model_validate({"lable_column": 1})


def test_labelled_text_is_refused(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Some words.\n")
    with pytest.raises(DataError, match="running text has no labels"):
        list(read_sentences(path, ReaderSettings(format="text")))


def test_text_is_a_sentence_a_line_or_split(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Mira sang. Rain fell.\n\n  \nHm\u2028so\n")
    found = list(read_sentences(path, ReaderSettings(format="text"), labelled=False))
    assert [s.tokens for s in found] == [("Mira", "sang", ".", "Rain", "fell", "."), ("Hm", "so")]
    assert [s.lines[0] for s in found] == [1, 4]
    split = ReaderSettings(format="text", split_sentences=True)
    found = list(read_sentences(path, split, labelled=False))
    assert [s.text for s in found] == ["Mira sang.", "Rain fell.", "Hm\u2028so"]
    characters = ReaderSettings(format="text", tokens="characters")
    assert len(list(read_sentences(path, characters, labelled=False))[1]) == 4


LINES = [
    b"a\tO\n", b"b B-X\n", b"\n", b"\t\n", b"# x = y\n", b"1\ta\tO\n", b"1-2\tab\t_\n",
    b"-DOCSTART-\n", b"[", b"]", b"{", b"}\n",
    b"\r\n", b"\xff\xfe\n", b"\xef\xbb\xbf", b"\x00", b'{"text": "a b", "label": [[0, 1, "X"]]}\n',
    b'{"tokens": ["a"], "labels": ["O"]}\n', b'{"text": "\\ud800", "spans": []}\n',
    b'"', b",", b'[1, 2]\n', b'{"text": 1}\n', b'["a", {"entities": [[0, 1, "X"], [0, 9, "Y"]]}]\n',
    b"\x1f\x8b", b"token\tlabel\n", b"# global.columns = FORM\n", "\u2028\u0085é\n".encode(),
    b'{"data": {"text": "ab"}, "annotations": [{"result": [{"value": {"start": 0, "end": 5}}]}]}\n',
]  # fmt: skip


ANY_BYTES = st.one_of(
    st.binary(max_size=60), st.lists(st.sampled_from(LINES), max_size=8).map(b"".join)
)


@given(
    data=ANY_BYTES,
    name=st.sampled_from(["auto", *READERS]),
    labelled=st.booleans(),
    repair=st.booleans(),
    split=st.booleans(),
)
@example(data=b"[" * 100_000, name="json", labelled=True, repair=True, split=False)
@example(data=b"1" * 5000, name="json", labelled=True, repair=True, split=False)
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_bytes_into_any_reader_give_sentences_or_a_one_line_error(
    tmp_path_factory, data, name, labelled, repair, split
):
    path = tmp_path_factory.getbasetemp() / "any.bytes"
    path.write_bytes(data)
    options = ReaderSettings(
        format=name, on_malformed="repair" if repair else "error", split_sentences=split
    )
    found, message = [], ""
    try:
        found = list(read_sentences(path, options, labelled=labelled, listener=lambda _: None))
    except DataError as error:
        message = str(error)
    assert not message or message.startswith(str(path))
    assert "\n" not in message
    for sentence in found:
        assert len(sentence) > 0
        assert all(sentence.tokens)
        assert (sentence.labels is not None) == labelled
        assert len(sentence.labels or sentence.tokens) == len(sentence.lines) == len(sentence)
        "".join(sentence.tokens).encode("utf-8")
        if sentence.offsets is not None:
            cut = [sentence.text[start:end] for start, end in sentence.offsets]
            assert tuple(cut) == sentence.tokens
