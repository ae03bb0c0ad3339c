"""``bilstm-crf check`` as it is typed: report, JSON, exit code, mended copy."""

import json

import pytest
from typer.testing import CliRunner

from bilstm_crf.cli import app
from bilstm_crf.commands.check import check
from bilstm_crf.errors import BilstmCrfError, ConfigError, RunError

CLEAN = "".join(f"Mira{n}\tB-PER\nHolt\tI-PER\nsaw\tO\nPort{n}\tB-LOC\n\n" for n in range(12))
FAULTY = CLEAN + "x\n\ny\tI-PER\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        return CliRunner().invoke(app, ["check", *map(str, arguments)])

    return run


@pytest.fixture
def faulty(tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text(FAULTY)
    return path


def test_a_clean_file_gives_facts_and_exit_code_0(run, tmp_path):
    (tmp_path / "train.tsv").write_text(CLEAN)
    result = run("train.tsv")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "file       split  sentences  tokens  entities  scheme  encoding",
        "train.tsv  train         12      48        24     BIO     utf-8",
        "",
        "train.tsv",
        "  read as conll: 2 columns by tab, tokens in column 0, labels in column 1",
        "  scheme BIO (B- 24, I- 12; entities not after one of their type begin 24 times with B-, "
        "0 times with I-)",
        "  types: PER 12, LOC 12",
        "  tokens of a sentence: min 4, median 4, p90 4, p99 4, max 4 "
        "(the longest begins in line 1)",
        "",
        "0 errors, 0 warnings",
    ]


def test_errors_are_shown_with_lines_and_repairs_and_exit_code_1(run, faulty):
    result = run(faulty)
    assert result.exit_code == 1
    assert f"    {faulty}:61: 1 column, 2 needed" in result.stdout
    assert f"    {faulty}:63: 'y': I-PER continues nothing in BIO -> B-PER\n" in result.stdout
    assert result.stdout.endswith("\n2 errors, 1 warnings\n")


def test_json_has_the_facts_and_all_findings(run, faulty, tmp_path):
    result = run(faulty, "--json", "-")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["errors"] == 2
    (file,) = found["files"]
    assert (file["path"], file["sentences"], file["tokens"], file["entities"]) == (
        str(faulty), 14, 50, 25,
    )  # fmt: skip
    assert file["types"] == {"LOC": 12, "PER": 13}
    kinds = {finding["kind"]: finding for finding in file["findings"]}
    assert kinds["labels that are malformed in BIO"]["places"] == [
        {
            "path": str(faulty),
            "line": 63,
            "detail": "'y': I-PER continues nothing in BIO",
            "repair": "B-PER",
        }
    ]
    assert run(faulty, "--json", tmp_path / "found.json").stdout.startswith("file")
    assert json.loads((tmp_path / "found.json").read_text()) == found


def test_fix_writes_a_mended_copy(run, faulty, tmp_path):
    run(faulty, "--fix", "mended.tsv")
    assert (tmp_path / "mended.tsv").read_text() == CLEAN + "x\tO\n\ny\tB-PER\n"
    assert run("mended.tsv").exit_code == 0
    assert faulty.read_text() == FAULTY


def test_fix_of_several_files_writes_a_folder(run, faulty, tmp_path):
    (tmp_path / "dev.tsv").write_text(CLEAN)
    run("train.tsv", "dev.tsv", "--fix", "mended")
    assert sorted(path.name for path in (tmp_path / "mended").iterdir()) == ["dev.tsv", "train.tsv"]


def test_fix_never_writes_over_what_it_reads(faulty):
    from bilstm_crf.commands.check import check_command

    with pytest.raises(RunError, match="--fix writes a copy"):
        check_command([str(faulty)], [], json=None, fix=faulty)


def test_a_configuration_names_the_files_and_how_to_read_them(run, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text(CLEAN.replace("\t", "\tX\t"))
    (tmp_path / "data" / "b.txt").write_text("a\tX\tB-ORG\n")
    (tmp_path / "vectors.txt").write_text("saw 1 2\n")
    config = tmp_path / "config.yaml"
    config.write_text(
        "data: {train: data/a.txt, dev: data/b.txt, label_column: 2}\n"
        "model: {word_embeddings: {vectors: vectors.txt, size: 2}}\n"
    )
    result = run(config)
    assert "ORG: 1 entities" in result.stdout
    assert "tokens not among  train words" in result.stdout
    assert "vectors.txt, exact" in result.stdout


def test_how_to_read_can_be_set(run, tmp_path):
    (tmp_path / "a.tsv").write_text("B-X\ta\tO\nO\tb\tO\n")
    assert check(["a.tsv"], ["data.label_column=0", "data.token_column=1"]).files[0].types == {
        "X": 1
    }


@pytest.mark.parametrize(
    ("inputs", "overrides", "message"),
    [
        (["-"], [], "check needs files"),
        (["gone.tsv"], [], "gone.tsv: no such file"),
        (["a.yaml", "b.tsv"], [], "takes one configuration, or data files"),
        (["a.tsv"], ["data.lable_column=1"], "unknown key"),
        (["a.tsv"], ["label_column"], "expected key=value, such as data.label_column=2"),
        (["empty.yaml"], [], "data"),
    ],
)
def test_mistakes_are_one_line_errors(tmp_path, monkeypatch, inputs, overrides, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.tsv").write_text(CLEAN)
    (tmp_path / "empty.yaml").write_text("data: {}\n")
    with pytest.raises(BilstmCrfError, match=message):
        check(inputs, overrides)


def test_a_configuration_without_data_is_refused(tmp_path):
    (tmp_path / "c.yaml").write_text("data: {}\n")
    with pytest.raises(ConfigError):
        check([str(tmp_path / "c.yaml")])


def test_control_characters_of_the_data_do_not_reach_the_terminal(run, tmp_path):
    (tmp_path / "a.tsv").write_text("#\x1b[31m\tO\n\x1b[2J\tB-X\n")
    result = run("a.tsv")
    assert "\x1b" not in result.stdout
    assert "\\x1b" in result.stdout
