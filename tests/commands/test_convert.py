"""``bilstm-crf convert`` as it is typed: formats, schemes, what is lost, what is refused."""

import json

import pytest
from typer.testing import CliRunner

from bilstm_crf.cli import app
from bilstm_crf.commands.convert import convert
from bilstm_crf.corpus.readers import ReaderSettings, read_sentences
from bilstm_crf.corpus.writers import WRITERS
from bilstm_crf.errors import BilstmCrfError, ConfigError, DataError, RunError

IOB1 = "Mira\tI-PER\nHolt\tI-PER\nof\tO\nSunder\tI-LOC\nNorvale\tB-LOC\n\nHm\tO\n\n"
BIOES = "Mira\tB-PER\nHolt\tE-PER\nof\tO\nSunder\tS-LOC\nNorvale\tS-LOC\n\nHm\tO\n\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "iob1.tsv").write_text(IOB1)
    return tmp_path


def test_another_scheme_in_columns(folder):
    result = CliRunner().invoke(app, ["convert", "iob1.tsv", "out.conll", "--scheme", "bioes"])
    assert result.exit_code == 0
    assert (folder / "out.conll").read_text() == BIOES


def test_the_scheme_stays_where_none_is_named(folder):
    convert(["iob1.tsv"], "out.tsv")
    assert (folder / "out.tsv").read_text() == IOB1


def test_standard_input_and_output(folder):
    result = CliRunner().invoke(app, ["convert", "-", "-", "--to", "inline"], input=IOB1)
    assert result.stdout == "[PER Mira Holt] of [LOC Sunder] [LOC Norvale]\nHm\n"


def test_a_sheet_with_numbered_sentences(folder):
    (folder / "in.csv").write_text(
        'Sentence #,Word,Tag\nSentence: 1,Mira,B-PER\n,",",O\nSentence: 2,"""",O\n'
    )
    convert(["in.csv"], "out.conll")
    assert (folder / "out.conll").read_text() == 'Mira\tB-PER\n,\tO\n\n"\tO\n\n'


@pytest.mark.parametrize("scheme", ["BIO", "IOB1", "BIOES", "BMES", "BILOU"])
def test_there_and_back_through_json_lines_loses_nothing(folder, scheme):
    convert(["iob1.tsv"], "there.jsonl")
    convert(["there.jsonl"], "back.tsv", scheme=scheme)
    convert(["back.tsv"], "again.tsv", scheme="IOB1")
    assert (folder / "again.tsv").read_text() == IOB1


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_is_written(folder, name):
    convert(["iob1.tsv"], "out", to=name)
    assert "Norvale" in (folder / "out").read_text()


def test_several_files_become_one(folder):
    (folder / "more.jsonl").write_text(json.dumps({"text": "Ada", "label": [[0, 3, "PER"]]}) + "\n")
    convert(["*.tsv", "more.jsonl"], "all.conll", scheme="bio")
    assert (folder / "all.conll").read_text().endswith("Hm\tO\n\nAda\tB-PER\n\n")


def test_bare_types_become_labels(folder):
    (folder / "bare.txt").write_text("Inger PER\nJoelsson PER\nbor 0\n")
    convert(["bare.txt"], "out.tsv", scheme="bio")
    assert (folder / "out.tsv").read_text() == "Inger\tB-PER\nJoelsson\tI-PER\nbor\tO\n\n"


def test_what_is_mended_and_merged_is_counted(folder, caplog):
    (folder / "bio.tsv").write_text("a\tO\nb\tI-X\nc\tB-X\nd\tB-X\n\ne\tB-X\n")
    convert(["bio.tsv"], "out.tsv", scheme="io")
    assert (
        "1 sentences have labels that are malformed in BIO, mended (first: bio.tsv:2: "
        in caplog.text
    )
    assert "IO cannot keep 2 adjacent entities of one type apart; they were merged" in caplog.text
    with pytest.raises(DataError, match=r"bio\.tsv:2: I-X continues nothing in BIO"):
        convert(["bio.tsv"], "out.tsv", overrides=["labels.on_invalid=error"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"output": "out.xyz"}, "no format known for this name; give --to"),
        ({"output": "-"}, "no format known"),
        ({"output": "out", "to": "docx"}, "unknown format 'docx'; known: conll, jsonl"),
        ({"output": "out.tsv", "scheme": "BIOX"}, "unknown label scheme 'BIOX'"),
        ({"output": "iob1.tsv"}, "is an input too"),
        ({"output": "iob1.tsv/x.tsv"}, "cannot be written"),
    ],
)
def test_mistakes_are_one_line_errors(folder, arguments, message):
    with pytest.raises(BilstmCrfError, match=message) as caught:
        convert(["iob1.tsv"], **arguments)
    assert isinstance(caught.value, ConfigError | RunError)


def test_an_error_half_way_leaves_what_was_there(folder):
    (folder / "bad.tsv").write_text(IOB1 * 20 + "x\n")
    (folder / "out.tsv").write_text("old")
    with pytest.raises(DataError, match=r"bad\.tsv:161"):
        convert(["bad.tsv"], "out.tsv", overrides=["labels.scheme=IOB1"])
    assert (folder / "out.tsv").read_text() == "old"
    assert sorted(path.name for path in folder.iterdir()) == ["bad.tsv", "iob1.tsv", "out.tsv"]


@pytest.mark.slow
@pytest.mark.parametrize("to", ["conll", "jsonl"])
def test_real_corpora_survive(corpora, folder, to):
    for name in ("wnut17/dev.conll", "wikigold/wikigold.conll.txt"):
        path = corpora(name.partition("/")[0]) / name.partition("/")[2]
        convert([str(path)], "there", to=to, scheme="bioes")
        convert(["there"], "back.tsv", scheme="bio")
        convert([str(path)], "direct.tsv", scheme="bio")
        assert (folder / "back.tsv").read_bytes() == (folder / "direct.tsv").read_bytes()
        tab = ReaderSettings(delimiter="tab")
        again = [s.tokens for s in read_sentences(folder / "back.tsv", tab)]
        assert again == [s.tokens for s in read_sentences(path)]
