"""Files with a token a line: separators, comments, document marks, faults with their lines."""

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bilstm_crf.corpus import columns, text_source
from bilstm_crf.corpus.labels import labels_to_spans
from bilstm_crf.corpus.readers import ReaderSettings, read_sentences
from bilstm_crf.errors import DataError


@pytest.fixture
def read(tmp_path):
    """Write text to a file and read it; gives (tokens, labels) pairs."""

    def read(text, *, labelled=True, name="file.conll", listener=None, **options):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        found = read_sentences(
            path, ReaderSettings(**options), labelled=labelled, listener=listener
        )
        return list(found)

    return read


def tokens_of(sentences):
    return [" ".join(sentence.tokens) for sentence in sentences]


def labels_of(sentences):
    return [" ".join(sentence.labels) for sentence in sentences]


FOUR = (
    "Mira B-PER\nHolt I-PER\nsang O\n\nNorvale B-LOC\nis O\n\nNobody O\n\nOld B-LOC\nTarn I-LOC\n"
)


@pytest.mark.parametrize("end", ["\r\n", "\n", "mixed"])
def test_windows_line_ends_change_nothing(read, end):
    text = FOUR.replace("\n", "\r\n") if end != "\n" else FOUR
    if end == "mixed":
        text = FOUR.replace("\n", "\r\n", 3) + ""
    found = read(text)
    assert tokens_of(found) == ["Mira Holt sang", "Norvale is", "Nobody", "Old Tarn"]
    assert labels_of(found) == ["B-PER I-PER O", "B-LOC O", "O", "B-LOC I-LOC"]


def test_untidy_blank_lines_and_ends_change_nothing(read):
    untidy = (
        "\n\nMira B-PER  \nHolt I-PER\t\nsang O\n  \t \nRain O\nfell O \n\t\n \n\t\t\n"
        "Oskar B-PER\nleft O\nOld B-LOC\nTarn I-LOC"
    )
    found = read(untidy)
    assert tokens_of(found) == ["Mira Holt sang", "Rain fell", "Oskar left Old Tarn"]
    assert labels_of(found)[2] == "B-PER O B-LOC I-LOC"
    assert [list(sentence.lines) for sentence in found] == [[3, 4, 5], [7, 8], [12, 13, 14, 15]]


def test_a_separator_that_holds_one_tab_is_blank_in_a_file_of_tabs(read):
    found = read("a\tO\n\t\nb\tB-X\n \nc\tO\n")
    assert tokens_of(found) == ["a", "b", "c"]
    assert [list(sentence.lines) for sentence in found] == [[1], [3], [5]]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("Mira B-PER\nsang O\n\nOskar B-PER\nleft O\nOld B-LOC\nTarn\n. O\n", 7, "1 column"),
        ("Mira\tB-PER\nsang\tO\nloudly\t\n.\tO\n", 3, "empty label in column 1"),
        ("Mira\tB-PER\nsang\tO\n\nOskar\tB-PER\n\tO\n.\tO\n", 5, "empty token in column 0"),
        ("a\tO\nb\tO\nc\tx\tO\n", 3, "3 columns, 2 needed"),
        ("Mira B_PER\nHolt I_PER\nsang O\n", 1, "label 'B_PER' is neither 'O' nor"),
        ("a O\n\nb B-\nc O\nd O\ne O\n", 3, "label 'B-' is neither"),
        ("word\n", 1, "1 column, 2 needed"),
    ],
)
def test_rows_that_do_not_fit_are_named_with_their_line(read, text, line, message):
    with pytest.raises(DataError, match=rf"file\.conll:{line}: (?:{message})") as caught:
        read(text)
    assert "\n" not in str(caught.value)
    assert caught.value.line == line


def test_rows_are_mended_by_stated_rules_and_told_of(read):
    faults = []
    found = read(
        "Mira\tB-PER\n\tO\nloudly\t\nx\nB\tB_LOC\ny\tz\tO\n",
        on_malformed="repair",
        listener=faults.append,
    )
    assert tokens_of(found) == ["Mira \ufffd loudly x B y"]
    assert labels_of(found) == ["B-PER O O O B-LOC O"]
    assert [(fault.line, fault.kind) for fault in faults] == [
        (2, "an empty token"),
        (3, "an empty label"),
        (4, "another number of columns"),
        (5, "a label of no known form"),
        (6, "another number of columns"),
        (6, "a label of no known form"),
    ]


def test_repairs_are_summed_up_in_one_warning(read, caplog):
    read("a\tO\n\tO\nb\tO\n\n\tO\n", on_malformed="repair")
    warnings = [one.getMessage() for one in caplog.records if one.levelname == "WARNING"]
    assert len(warnings) == 1
    assert warnings[0].endswith("repaired malformed rows: 2 with an empty token (first: line 2)")


@pytest.mark.parametrize(
    "mark", ["-DOCSTART- -X- -X- O", "-DOCSTART- -X- O O", "-DOCSTART- O", "-DOCSTART-"]
)
@pytest.mark.parametrize("glued", [True, False])
def test_document_marks_are_no_tokens_but_borders(read, mark, glued):
    blank = "" if glued else "\n"
    rows = "Mira NNP I-NP B-PER\nsang VBD I-VP O\n"
    found = read(f"{mark}\n{blank}{rows}{blank}{mark}\n{blank}{rows}{blank}{mark}\n")
    assert tokens_of(found) == ["Mira sang", "Mira sang"]
    assert labels_of(found) == ["B-PER O", "B-PER O"]


def test_spaces_inside_tokens_of_a_file_of_tabs_stay(read):
    text = (
        'San Rafelo\tB-LOC\nslept\tO\n.\tO\n\nMira\tB-PER\n: "\tO\n\n \tO\n\u00a0\u2028\u200b\tO\n'
    )
    for delimiter in ("auto", "tab"):
        found = read(text, delimiter=delimiter)
        assert [list(sentence.tokens) for sentence in found] == [
            ["San Rafelo", "slept", "."],
            ["Mira", ': "'],
            [" ", "\u00a0\u2028\u200b"],
        ]


def test_tabs_and_spaces_mixed_are_cut_at_both_unless_told(read):
    text = "Ana\tB-PER\nRuizo I-PER\nlives  O\nin \tO\nSunder\t\tB-LOC\n"
    (found,) = read(text)
    assert found.tokens == ("Ana", "Ruizo", "lives", "in", "Sunder")
    assert found.labels == ("B-PER", "I-PER", "O", "O", "B-LOC")
    with pytest.raises(DataError, match=r":2: 1 column, 2 needed .*data\.delimiter: space"):
        read(text, delimiter="tab")


def test_unicode_white_space_and_emoji_are_kept_byte_for_byte(read):
    tokens = [
        "a\u00a0b",
        "c\u2028d",
        "e\u0085f",
        "\u200bg",
        "👩‍👩‍👧",
        "e\u0301",
        "\u3000",
        "x\x0by",
        "\x1c",
    ]
    for delimiter in (" ", "\t"):
        (found,) = read("".join(f"{token}{delimiter}O\n" for token in tokens))
        assert list(found.tokens) == tokens


def test_types_end_nowhere_but_where_the_label_does(read):
    labels = ["B-PER", "B-PER-part", "B-Multi-tissue_structure", "B-LOC-deriv-x", "B-B", "B-O", "O"]
    (found,) = read("".join(f"w {label}\n" for label in labels))
    assert list(found.labels) == labels
    types = {span.type for span in labels_to_spans(found.labels)}
    assert types == {"PER", "PER-part", "Multi-tissue_structure", "LOC-deriv-x", "B", "O"}


def test_comments_are_left_out_and_tokens_with_a_hash_are_not(read):
    text = (
        "# newdoc id = 1\n# text = a b\n#NFL\tO\n#\tO\n# note\nb\tB-X\n\n"
        "## doc-2\t<a:X> of b\nc\tO\n#MH17's\tB-X\n"
    )
    found = read(text)
    assert tokens_of(found) == ["#NFL # b", "c #MH17's"]
    assert list(found[0].lines) == [3, 4, 6]
    assert list(found[1].lines) == [9, 10]


def test_comments_by_another_prefix_or_none(read):
    found = read("%% note\na\tO\n%% b\tO\n\n# c\tO\n", comments="%%")
    assert tokens_of(found) == ["a", "# c"]
    with pytest.raises(DataError, match=":1: 1 column, 2 needed"):
        read("#note\na\tO\nb\tO\n", comments="none")


def test_a_token_file_is_read_without_labels_whatever_its_columns(read):
    found = read("Mira\nHolt\n#tag\n\n\nrun\n", labelled=False)
    assert tokens_of(found) == ["Mira Holt #tag", "run"]
    assert [sentence.labels for sentence in found] == [None, None]
    found = read("Mira\tB-PER\nsang\tO\n", labelled=False)
    assert (tokens_of(found), found[0].labels) == (["Mira sang"], None)
    found = read("Mira\tNNP\tx\nsang\n", labelled=False)
    assert tokens_of(found) == ["Mira sang"]


def test_a_line_of_a_token_file_is_one_token_with_its_spaces(read):
    text = "# sent_id = 3\nMira\nSan Rafelo\n# 1\n#tag\n\u00a0\n\n \t\n-DOCSTART-\n sang \n"
    found = read(text, labelled=False)
    assert [list(sentence.tokens) for sentence in found] == [
        ["Mira", "San Rafelo", "# 1", "#tag", "\u00a0"],
        ["sang"],
    ]


def test_extra_columns_become_features(read):
    (found,) = read("a N x B-P\nb V y O\n", features={"pos": 1, "chunk": -2})
    assert dict(found.features) == {"pos": ("N", "V"), "chunk": ("x", "y")}
    with pytest.raises(DataError, match="rows have 2 columns, so there is no column 2"):
        read("a O\n", features={"pos": 2})


def test_multiword_ranges_and_empty_nodes_are_no_tokens(read):
    text = (
        "# sent_id = 1\n1-2\tdu\t_\tO\n1\tde\t_\tB-X\n2\tle\t_\tI-X\n"
        "2.1\tnull\t_\tO\n3\tlac\t_\tI-X\n\n1\toui\t_\tO\n"
    )
    found = read(text)
    assert tokens_of(found) == ["de le lac", "oui"]
    assert labels_of(found) == ["B-X I-X I-X", "O"]
    assert list(found[0].lines) == [3, 4, 6]


def test_labels_inside_a_column_of_keys_and_values(read):
    row = "{}\t{}\t_\tX\t_\t_\t0\troot\t_\t{}\n"
    rows = [("1", "Mira", "NER=B-PER|SpaceAfter=No"), ("2", "sang", "_"), ("3", ".", "NER=O")]
    text = "".join(row.format(*cells) for cells in rows)
    for options in ({}, {"format": "conllu"}, {"label_column": "9:NER"}):
        (found,) = read(text, **options)
        assert found.tokens == ("Mira", "sang", ".")
        assert found.labels == ("B-PER", "O", "O")


def test_a_flag_in_the_last_column_may_end_sentences(read):
    text = "a\tO\t_\nb\tB-X\tNoSpaceAfter|EndOfSentence\nc\tO\tEndOfSentence\nd\tO\t_\n"
    assert tokens_of(read(text, label_column=1)) == ["a b c d"]
    found = read(text, label_column=1, sentence_end="EndOfSentence")
    assert tokens_of(found) == ["a b", "c", "d"]
    assert [list(sentence.lines) for sentence in found] == [[1, 2], [3], [4]]


def test_bare_types_and_zero_become_labels_of_io(read):
    (found,) = read("Inger\tPER\nJoelsson\tPER\nbor\t0\ni\t0\nLund\tLOC\n.\t0\n")
    assert found.labels == ("I-PER", "I-PER", "O", "O", "I-LOC", "O")
    (found,) = read("a X\nb X\nc NONE\n", outside="NONE", bare_types=True)
    assert found.labels == ("I-X", "I-X", "O")


def test_types_with_a_prefix_at_their_end_are_no_bare_types(read):
    text = "Inger\tPER-B\nJoelsson\tPER-I\nbor\tO\ni\tO\nLund\tLOC-B\n.\tO\n"
    with pytest.raises(DataError, match=r":1: label 'PER-B' is neither .*labels\.bare_types"):
        read(text)
    (found,) = read(text, bare_types=True)
    assert found.labels[0] == "I-PER-B"


def test_a_very_long_token_stays_whole(read):
    (found,) = read(f"{'x' * 300_000} B-X\ny O\n")
    assert len(found.tokens[0]) == 300_000


def test_one_sentence_without_end_is_read_through_many_pieces(read, monkeypatch):
    monkeypatch.setattr(text_source, "CHUNK_BYTES", 64)
    (found,) = read("".join(f"w{number} O\n" for number in range(1000)))
    assert len(found) == 1000
    assert found.lines == range(1, 1001)


PIECES = [
    "a\tO\n", "b\tB-X\n", "c d\tI-X\n", "\n", "\n\n", "\t\n", " \n", "#x\tO\n", "# note\n",
    "-DOCSTART-\tO\n", "\tO\n", "e\n", "f\tO\t\n", "g\tO\tx\n", "h \tB-Y \n", "\u2028\tO\n",
    "i\t\n", "j\tB_X\n", "k\tO\tx\n", "l\tB-Z\ty\n", "m\n",
]  # fmt: skip


@given(
    pieces=st.lists(st.sampled_from(PIECES), max_size=25),
    size=st.integers(1, 40),
    start=st.sampled_from(["a\tO\nb\tB-X\n\n", "a\tO\tx\nb\tB-X\ty\n\n", "a\n\n"]),
)
@example(pieces=["m\n", "m\n", "k\tO\tx\n"], size=40, start="a\tO\tx\n\n")
@settings(max_examples=200, deadline=None)
def test_the_fast_way_reads_as_the_way_row_by_row(tmp_path_factory, pieces, size, start):
    """Two readings of one file: whole blocks in small pieces, and every row by itself."""
    path = tmp_path_factory.getbasetemp() / "two_ways.conll"
    path.write_text(start * 20 + "".join(pieces), encoding="utf-8", newline="")
    options = ReaderSettings(delimiter="tab", on_malformed="repair", token_column=0)

    def read():
        faults = []
        return list(read_sentences(path, options, listener=faults.append)), faults

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_source, "CHUNK_BYTES", size)
        fast = read()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns._ColumnsReader, "_read_whole", lambda *_: None)
        by_row = read()
    assert [list(s.lines) for s in fast[0]] == [list(s.lines) for s in by_row[0]]
    assert fast[0] == by_row[0] or [(s.tokens, s.labels) for s in fast[0]] == [
        (s.tokens, s.labels) for s in by_row[0]
    ]
    assert fast[1] == by_row[1]


def test_every_token_knows_its_line(read):
    generator = random.Random(3)
    text = "".join(generator.choice(PIECES[:9]) for _ in range(400))
    lines = text.split("\n")
    found = read(text, delimiter="tab")
    seen = [(line, token) for s in found for line, token in zip(s.lines, s.tokens, strict=True)]
    assert len(seen) > 100
    assert all(lines[line - 1].split("\t")[0] == token for line, token in seen)
    expected = [n for n, line in enumerate(lines, 1) if line.strip(" \t") and line != "# note"]
    assert [line for line, _ in seen] == expected
