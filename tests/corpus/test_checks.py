"""The data doctor: each fault and oddity is found at its line, and nothing where there is none."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilstm_crf.commands.check_report import report_text
from bilstm_crf.corpus.checks import check_corpus, split_of
from bilstm_crf.corpus.data_section import ReaderSettings
from bilstm_crf.corpus.labels import LabelsSection
from bilstm_crf.corpus.mended_file import mended_text
from bilstm_crf.errors import DataError

CLEAN = "".join(f"Mira{n}\tB-PER\nHolt\tI-PER\nsaw\tO\nPort{n}\tB-LOC\n.\tO\n\n" for n in range(12))


@pytest.fixture
def check(tmp_path):
    """Check files given as name=text; the names' dots are underscores."""

    def check(*, settings=None, labels=None, vectors=(), **texts):
        files = []
        for name, text in texts.items():
            path = tmp_path / name.replace("_", ".")
            path.write_bytes(text.encode() if isinstance(text, str) else text)
            files.append((split_of(path), path))
        return check_corpus(files, settings, labels, vectors)

    return check


def places(result, part):
    """Return line and detail of the places of the one finding whose kind has this part."""
    (found,) = [finding for finding in result.findings if part in finding.kind]
    return [(place.line, place.detail) for place in found.places]


def test_a_clean_file_has_facts_and_no_findings(check):
    result = check(train_tsv=CLEAN)
    assert result.findings == []
    (file,) = result.as_dict()["files"]
    assert (file["sentences"], file["tokens"], file["entities"]) == (12, 60, 24)
    assert file["types"] == {"LOC": 12, "PER": 12}
    assert (file["split"], file["scheme"], file["encoding"]) == ("train", "BIO", "utf-8")
    assert file["sentence_length"] == {"min": 5, "median": 5, "p90": 5, "p99": 5, "max": 5}
    assert file["read_as"] == "conll: 2 columns by tab, tokens in column 0, labels in column 1"
    assert (result.num_errors, result.num_warnings) == (0, 0)


def test_length_quantiles_and_the_longest_sentence(check):
    lengths = [3, 1, 9, 2, 2]
    text = "".join("w\tO\n" * length + "\n" for length in lengths)
    (file,) = check(train_tsv=text).files
    assert file.length_quantiles() == {"min": 1, "median": 2, "p90": 9, "p99": 9, "max": 9}
    assert file.longest_line == 7


def test_malformed_rows_and_labels_are_errors_with_repairs(check):
    result = check(train_tsv=CLEAN + "a\tO\n\tO\nb\n\nc\tO\nd\tI-PER\ne\tI-LOC\n")
    assert result.num_errors == 4
    assert places(result, "an empty token") == [(74, "empty token in column 0")]
    assert places(result, "another number of columns")[0][0] == 75
    faults = places(result, "malformed in BIO")
    assert faults == [
        (78, "'d': I-PER continues nothing in BIO"),
        (79, "'e': I-LOC continues nothing in BIO"),
    ]
    kinds = {finding.kind: finding for finding in result.findings}
    repairs = [place.repair for place in kinds["labels that are malformed in BIO"].places]
    assert repairs == ["B-PER", "B-LOC"]


def test_a_scheme_that_is_given_is_the_measure(check):
    result = check(labels=LabelsSection(scheme="BIOES"), train_tsv=CLEAN)
    assert result.files[0].scheme.evidence == "as configured"
    assert len(places(result, "malformed in BIOES")) == 24


def test_odd_lines_are_counted(check):
    text = CLEAN.replace("\n\n", "\n\t\n", 2).replace("\n\n", "\n \n", 1)
    text = "-DOCSTART-\tO\n\n# id = 1\n#tag\tO\n" + text.removesuffix("\n")
    result = check(train_tsv=text.replace("\n", "\r\n"))
    assert places(result, "blank lines that hold white space") == [
        (10, "tab"),
        (16, "tab"),
        (22, "space"),
    ]
    assert places(result, "-DOCSTART-") == [(1, "-DOCSTART-\tO")]
    assert places(result, "comment lines") == [(3, "# id = 1")]
    assert places(result, "begin with #") == [(4, "#tag\tO")]
    assert places(result, "Windows") == [(None, "75 of 75 lines")]
    assert result.num_errors == 0


def test_byte_order_marks_missing_ends_and_mixed_ends_are_noted(check):
    result = check(train_tsv=b"\xef\xbb\xbf" + CLEAN.encode().replace(b"\n", b"\r\n", 3) + b"x\tO")
    assert places(result, "byte order mark") == [(1, "")]
    assert places(result, "last line has no line end") == [(73, "")]
    assert places(result, "Windows") == [(None, "3 of 72 lines (mixed)")]


def test_a_file_in_utf_16_is_checked_like_others(check):
    result = check(train_tsv=CLEAN.replace("\n", "\r\n").encode("utf-16"))
    assert places(result, "byte order mark") == [(1, "")]
    assert places(result, "Windows") == [(None, "72 of 72 lines")]
    assert result.num_errors == 0
    assert result.files[0].encoding == "utf-16"
    assert result.files[0].read_as.startswith("conll in utf-16: 2 columns by tab")


def test_tabs_and_spaces_in_one_file_are_noted(check):
    result = check(train_tsv=CLEAN + "last  O\n")
    assert places(result, "tabs and runs of spaces") == [
        (73, "first tab in line 1, first row of spaces in this")
    ]


@pytest.mark.parametrize(
    ("token", "kind", "detail"),
    [
        (" ", "tokens that are white space", "' ', 2 times"),
        ("a b", "tokens with white space inside", "'a b', 2 times"),
        ("a ", "tokens with white space at an end", "'a ', 2 times"),
        ("a\u200bb", "invisible characters", "'a\\u200bb' (U+200B ZERO WIDTH SPACE), 2 times"),
        ("\u00adx", "invisible characters", "'\\xadx' (U+00AD SOFT HYPHEN), 2 times"),
        ("e\u0301", "decomposed form", "'e\u0301', 2 times"),
        ("a\ufffd", "U+FFFD", "'a\ufffd', 2 times"),
        ("x" * 300, "more than 200 characters", f"300: {'x' * 40!r}..., 2 times"),
    ],
)
def test_odd_tokens_are_found_once_with_their_number(check, token, kind, detail):
    result = check(train_tsv=f"{CLEAN}{token}\tO\nb\tO\n{token}\tO\n")
    assert places(result, kind) == [(73, detail)]


def test_usual_joiners_are_not_odd(check):
    result = check(train_tsv=CLEAN + "می\u200cخواهم\tO\n👩\u200d👧\tO\n")
    assert result.findings == []


def test_sentences_of_train_in_test_and_labelled_differently(check):
    again = "Mira3\tB-PER\nHolt\tI-PER\nsaw\tO\nPort3\tB-LOC\n.\tO\n\n"
    other = again.replace("B-LOC", "O")
    result = check(train_tsv=CLEAN + other, test_tsv="new\tO\n\n" + again + again.replace("3", "4"))
    within = places(result, "again, with other labels")
    assert within == [(73, "as in line 19: Mira3 Holt saw Port3 .")]
    shared = places(result, "sentences of test that are in train too")
    assert [line for line, _ in shared] == [3, 9]
    assert shared[0][1].endswith("train.tsv:19")
    differing = check(train_tsv=CLEAN, test_tsv="x\tO\n\n" + other)
    assert places(differing, "labelled one way in train, another in test")[0][0] == 3


def test_types_words_and_characters_that_training_lacks(check):
    result = check(
        train_tsv=CLEAN + "rare\tB-ODD\n\n", dev_tsv="Mira1\tB-ORG\n\nsaïw\tO\nraïž\tO\n"
    )
    assert places(result, "types in dev that training never sees") == [(1, "ORG: 1 entities")]
    assert [d for _, d in places(result, "types of training that dev")] == ["LOC", "ODD", "PER"]
    assert places(result, "fewer than 10 training entities") == [(73, "ODD: 1")]
    assert places(result, "characters in dev") == [(3, "'ï', 2 tokens"), (4, "'ž', 1 tokens")]
    assert result.unseen["dev"]["train words"] == pytest.approx(2 / 3)


def test_ambiguous_and_unlabelled_entities(check):
    text = CLEAN + "Holt\tB-LOC\nand\tO\nPort1\tO\n\nPort1\tB-LOC\n\nMira2\tO\nHolt\tO\n\n"
    text += "Mira2\tB-PER\nHolt\tI-PER\n\nPort1\tB-ORG\n"
    result = check(train_tsv=text)
    assert places(result, "several types") == [(10, "'Port1': LOC 2, ORG 1")]
    assert places(result, "also stand unlabelled") == [
        (10, "'Port1': 3 times labelled, 1 times not"),
        (13, "'Mira2 Holt': 2 times labelled, 1 times not"),
    ]


def test_no_entities_is_a_warning(check):
    result = check(train_tsv="a\tO\nb\tO\n")
    assert places(result, "no entities") == [(None, "")]
    assert result.num_warnings == 1


def test_the_coverage_of_vectors_is_told_by_rule(check, tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("Mira 1 2\nholt 1 2\n00 1 2\n")
    text = "Mira\tB-P\nHOLT\tO\n19\tO\ngone\tO\n"
    result = check(train_tsv=text, vectors=[path])
    shares = [round(share, 3) for share in result.unseen["train"].values()]
    assert shares == [0.75, 0.5, 0.25]


def test_json_and_gzip_are_checked_too(check):
    documents = [{"text": "Mira sang", "label": [[0, 4, "PER"], [0, 9, "X"], [5, 99, "Y"]]}]
    data = gzip.compress("".join(json.dumps(one) + "\n" for one in documents).encode())
    result = check(train_jsonl=data)
    assert result.files[0].read_as == "jsonl"
    assert places(result, "overlapping entities")[0][0] == 1
    assert result.num_errors == 2


def test_hipe_flags_are_pointed_out(check):
    text = "TOKEN\tNE\tMISC\n" + "a\tO\t_\nb\tB-x\tNoSpaceAfter|EndOfSentence\n" * 3
    result = check(train_tsv=text)
    assert [line for line, _ in places(result, "flags of sentence ends")] == [3, 5, 7]


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("eng.testb", "test"),
        ("HIPE-v2.1-train-en.tsv", "train"),
        ("da_ddt-ud-dev.iob2", "dev"),
        ("devel.tsv", "dev"),
        ("valid.txt", "dev"),
        ("test_corpus.txt", "test"),
        ("latest.conll", "latest.conll"),
    ],
)
def test_file_names_speak_of_their_split(tmp_path, name, split):
    assert split_of(tmp_path / name) == split


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ("# c\na\tx\tO\nb\ty\tI-P\n\t\n\tz\tO\n", "# c\na\tx\tO\nb\ty\tB-P\n\t\n\ufffd\tz\tO\n"),
        ("bn\na 0\nb PER\nc 0\n", "bn 0\na 0\nb PER\nc 0\n"),
        ("Mira B_PER\nHolt I_PER\nx O\ny  O", "Mira B-PER\nHolt I-PER\nx O\ny  O\n"),
        ("a\tO\r\nb\tB-\r\nc\tO\nd\tO\n", "a\tO\nb\tO\nc\tO\nd\tO\n"),
    ],
)
def test_a_mended_file_changes_only_what_is_malformed(tmp_path, text, mended):
    path = tmp_path / "a.tsv"
    path.write_bytes(text.encode())
    assert "".join(mended_text(path, ReaderSettings(), "BIO")) == mended


PIECES = [
    b"a\tO\n",
    b"b\tB-X\n",
    b"c I-Y\n",
    b"\n",
    b"\t\n",
    b"# x = y\n",
    b"x\n",
    b"\xff\n",
    b"\0",
    b"\r\n",
    b'{"text": "a b", "label": [[0, 1, "X"], [0, 3, "Y"]]}\n',
    b"token\tlabel\n",
    b"\x1f\x8b",
]


@given(data=st.lists(st.sampled_from(PIECES), max_size=9).map(b"".join))
def test_any_bytes_are_checked_or_a_one_line_error(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "any.train"
    path.write_bytes(data)
    message, result = "", None
    try:
        result = check_corpus([("train", path), ("test", path)])
    except DataError as error:
        message = str(error)
    assert (result is None) != (message == "")
    assert "\n" not in message
    if result is not None:
        json.dumps(result.as_dict())
        assert report_text(result).endswith(" warnings\n")
