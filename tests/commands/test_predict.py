"""The command predict as it is typed: lines kept, bytes kept, nothing but results on stdout."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from random_models import random_model
from typer.testing import CliRunner

from bilstm_crf.cli import app, main
from bilstm_crf.prediction.model_file import save_model
from bilstm_crf.prediction.predictor import Tagger

LEFT_OUT = "\n\nMira\nHolt\nsang\n\nNorvale\n\n\n\nPort\nHolt\n.\n\nrain"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.pt"
    save_model(random_model(), path)
    return path


def run(*arguments: str | Path, stdin: bytes = b"") -> bytes:
    result = CliRunner().invoke(app, ["predict", *map(str, arguments)], input=stdin)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.stderr
    return result.stdout_bytes


def fails(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["bilstm-crf", "predict", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
    assert stopped.value.code == 1
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.count("error:") == 1
    return found.err


@pytest.mark.parametrize("batch_size", ["1", "2", "32"])
def test_lines_stay_aligned_without_a_last_line_end(model: Path, tmp_path: Path, batch_size: str):
    (tmp_path / "in.txt").write_text(LEFT_OUT, encoding="utf-8")
    found = run(model, tmp_path / "in.txt", "--batch-size", batch_size).decode().split("\n")
    lines = LEFT_OUT.split("\n")
    assert len(found) == len(lines)
    sentences = [block.split("\n") for block in LEFT_OUT.split("\n\n")]
    tokens = [[token for token in tokens if token] for tokens in sentences]
    labels = iter(label for row in Tagger.load(model).predict_tokens(tokens) for label in row)
    assert found == [f"{line}\t{next(labels)}" if line else "" for line in lines]


def test_standard_input_gives_the_same_bytes_as_a_file(model: Path, tmp_path: Path):
    text = "39\n\n東京\nは\n\nΗλίας\n🚀\n\n" + "q" * 300 + "\n"
    (tmp_path / "in.txt").write_text(text, encoding="utf-8")
    found = run(model, tmp_path / "in.txt")
    assert found == run(model, "-", stdin=text.encode()) == run(model, stdin=text.encode())
    run(model, tmp_path / "in.txt", "--output", tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_bytes() == found
    tokens = [line.split("\t")[0] for line in found.decode().split("\n")]
    assert tokens == text.split("\n")
    assert run(model, "-", stdin=b"") == b""


def test_document_marks_stay_in_place(model: Path, tmp_path: Path):
    text = "-DOCSTART- -X- O\n\nMira B-PER\n-DOCSTART- -X- O\nHolt B-PER\n\n-DOCSTART-\n"
    (tmp_path / "in.conll").write_text(text, encoding="utf-8")
    labels = [row[0] for row in Tagger.load(model).predict_tokens([["Mira"], ["Holt"]])]
    assert run(model, tmp_path / "in.conll").decode() == (
        f"-DOCSTART- -X- O\n\nMira\t{labels[0]}\n-DOCSTART- -X- O\nHolt\t{labels[1]}\n\n"
        "-DOCSTART-\n"
    )


def test_both_engines_write_the_same(model: Path, tmp_path: Path):
    text = "\n\n".join(["Mira\nHolt\nsang", "the\nrain\n#\nx", "Norvale"] * 30) + "\n"
    (tmp_path / "in.txt").write_text(text, encoding="utf-8")
    light = run(model, tmp_path / "in.txt", "--threads", "2", "--batch-size", "4")
    full = run(model, tmp_path / "in.txt", "--probabilities", "--device", "cpu")
    assert [line.rpartition(b"\t")[0] for line in full.split(b"\n")] == light.split(b"\n")
    assert b"-PER" in light


def test_text_becomes_json_with_true_offsets(model: Path, tmp_path: Path):
    text = "Mira Holt sang in Norvale.  The rain.\r\n\r\n日本 Holt!"
    (tmp_path / "in.txt").write_bytes(text.encode())
    found = run(model, tmp_path / "in.txt", "--input-format", "text", "--output-format", "jsonl")
    rows = [json.loads(line) for line in found.decode().splitlines()]
    assert [row["text"] for row in rows] == text.split("\r\n")
    spans = [(row["text"], span) for row in rows for span in row["spans"]]
    assert spans
    for line, span in spans:
        assert line[span["start"] : span["end"]] == span["text"]
        assert 0 < span["probability"] <= 1
    bare = run(model, tmp_path / "in.txt", "--output-format", "jsonl", "--no-probabilities")
    for row in rows:
        for span in row["spans"]:
            del span["probability"]
    assert [json.loads(line) for line in bare.decode().splitlines()] == rows


def test_json_lines_keep_their_keys(model: Path, tmp_path: Path):
    rows = [{"id": 1, "text": "Mira Holt sang.", "meta": {"a": [1]}}, {"text": "", "id": "é"}]
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (tmp_path / "in.jsonl").write_text(text, encoding="utf-8")
    found = [json.loads(line) for line in run(model, tmp_path / "in.jsonl").splitlines()]
    for row, result in zip(rows, found, strict=True):
        assert isinstance(result.pop("spans"), list)
        assert result == row


def test_thresholds_marginals_and_k_best(model: Path, tmp_path: Path):
    (tmp_path / "in.txt").write_text("Mira\nHolt\nsang\n", encoding="utf-8")
    path = tmp_path / "in.txt"
    assert b"-" in run(model, path)
    assert run(model, path, "--threshold", "1") == b"Mira\tO\nHolt\tO\nsang\tO\n"
    assert run(model, path, "--threshold", "1", "--threshold", "PER=0", "--threshold", "LOC=0") == (
        run(model, path)
    )
    assert run(model, path, "--marginals").count(b"|") > 2
    arguments = (path, "--output-format", "jsonl", "--k-best", "3", "--input-format", "tokens")
    (row,) = map(json.loads, run(model, *arguments).splitlines())
    assert len(row["k_best"][0]) == 3


def test_text_as_token_lines_has_the_probabilities_of_token_lines(model: Path, tmp_path: Path):
    (tmp_path / "text.txt").write_text("Mira Holt sang", encoding="utf-8")
    (tmp_path / "tokens.txt").write_text("Mira\nHolt\nsang\n", encoding="utf-8")
    for options in (["--probabilities"], ["--marginals"], ["--probabilities", "--marginals"]):
        formats = ("--input-format", "text", "--output-format", "tokens")
        text = run(model, tmp_path / "text.txt", *formats, *options)
        rows = run(model, tmp_path / "tokens.txt", *options)
        assert text.strip() == rows.strip()
        assert rows.split(b"\n")[0].count(b"\t") == 1 + len(options)


def test_the_best_paths_need_a_crf_and_have_a_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    save_model(random_model(head="softmax"), tmp_path / "model.pt")
    (tmp_path / "in.txt").write_text("Mira\n", encoding="utf-8")
    options = ("--output-format", "jsonl", "--k-best", "2")
    message = fails(capsys, tmp_path / "model.pt", tmp_path / "in.txt", *options)
    assert "model.head: softmax, which scores each token by itself" in message
    arguments = ["predict", str(tmp_path / "model.pt"), "-", *options[:-1], "101"]
    assert CliRunner().invoke(app, arguments).exit_code == 2


def test_more_vectors_must_have_the_size_of_the_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "vectors.txt").write_text("Oslo 1 2 3\n", encoding="utf-8")
    section = {"size": 8, "vectors": "first.txt"}
    save_model(random_model(word_embeddings=section), tmp_path / "model.pt")
    (tmp_path / "in.txt").write_text("Mira\n", encoding="utf-8")
    message = fails(
        capsys, tmp_path / "model.pt", tmp_path / "in.txt", "--vectors", tmp_path / "vectors.txt"
    )
    assert "vectors of size 3, where the model has size 8" in message


def test_a_way_to_cut_tokens_that_are_there_is_told_to_be_ignored(model: Path, tmp_path: Path):
    (tmp_path / "in.txt").write_text("Mira\nsang\n", encoding="utf-8")
    for more in ([], ["--output-format", "jsonl"]):
        arguments = ["predict", str(model), str(tmp_path / "in.txt"), "--tokens", "characters"]
        result = CliRunner().invoke(app, [*arguments, *more])
        assert result.exit_code == 0
        assert "in.txt has a token a line, which is not cut" in result.stderr


def test_several_inputs_follow_each_other(model: Path, tmp_path: Path):
    for name, text in (("a.txt", "Mira\nsang"), ("b.txt", "Holt\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    single = [run(model, tmp_path / name) for name in ("a.txt", "b.txt")]
    assert run(model, tmp_path / "*.txt") == single[0] + b"\n" + single[1]
    assert len(run(model, tmp_path / "*.txt", "--output-format", "jsonl").splitlines()) == 2
    assert run(model, tmp_path / "*.txt", "--output-format", "html").count(b"<html") == 1


def test_another_encoding_is_read_and_utf8_written(model: Path, tmp_path: Path):
    (tmp_path / "in.txt").write_text("Zoë\nsang\n", encoding="latin-1")
    found = run(model, tmp_path / "in.txt", "--set", "data.encoding=latin-1")
    assert found.decode().startswith("Zoë\t")


def test_mistakes_are_one_line(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "in.txt"
    path.write_bytes(b"Mira\nZo\xeb\n")
    assert f"{path}:2: byte 0xeb" in fails(capsys, model, path)
    output = tmp_path / "out.txt"
    fails(capsys, model, path, "--output", output)
    assert list(tmp_path.iterdir()) == [path]
    assert "no such file" in fails(capsys, model, tmp_path / "missing.txt")
    assert "no such file" in fails(capsys, tmp_path / "missing.pt", path)
    assert "is an input too" in fails(capsys, model, path, "--output", path)
    assert "--input-format xml: expected" in fails(capsys, model, path, "--input-format", "xml")
    assert "--tokens" in fails(capsys, model, path, "--tokens", "bytes")
    assert "such as spacy:en" in fails(capsys, model, path, "--tokens", "spacy")
    assert "no type 'ORG'" in fails(capsys, model, path, "--threshold", "ORG=0.5")
    assert "--k-best needs" in fails(capsys, model, path, "--k-best", "2")
    assert "--probabilities needs" in fails(
        capsys, model, path, "--probabilities", "--output-format", "inline"
    )
    assert "--marginals needs" in fails(
        capsys, model, path, "--marginals", "--output-format", "inline"
    )
    assert "without word vectors" in fails(capsys, model, path, "--vectors", path)
    (tmp_path / "folder").mkdir()
    assert "cannot be written" in fails(capsys, model, path, "--output", path / "out")
    path.write_bytes(b"Mira\nHo\0lt\n")
    assert f"{path}:2: NUL character" in fails(capsys, model, path)
    path.write_text('{"text": "a"}\n{"b": 1}\n', encoding="utf-8")
    assert f"{path}:2: expected a 'text'" in fails(capsys, model, path)


def test_text_can_be_cut_by_spacy(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "in.txt"
    path.write_text("Mira don't sing,  Holt.\n", encoding="utf-8")
    arguments = (model, path, "--input-format", "text", "--tokens", "spacy:en")
    monkeypatch.setitem(sys.modules, "spacy", None)
    assert "pip install 'bilstm-crf[spacy]'" in fails(capsys, *arguments)
    monkeypatch.delitem(sys.modules, "spacy")
    pytest.importorskip("spacy", reason="the extra spacy is not installed")
    tokens = [line.split("\t")[0] for line in run(*arguments).decode().split("\n")]
    assert tokens == ["Mira", "do", "n't", "sing", ",", "Holt", ".", "", ""]


def test_no_locale_changes_a_byte(model: Path, tmp_path: Path):
    text = "Zoë\n東京\n🚀\n"
    path = tmp_path / "näme.txt"
    path.write_text(text, encoding="utf-8")
    plain = {key: value for key, value in os.environ.items() if not key.startswith("LC_")}
    found = []
    for odd in (
        {"PYTHONUTF8": "1"},
        {"PYTHONUTF8": "0", "PYTHONIOENCODING": "cp1252"},
        {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"},
    ):
        command = [sys.executable, "-m", "bilstm_crf", "predict", str(model), str(path)]
        result = subprocess.run(command, env={**plain, **odd}, capture_output=True, check=True)
        found.append(result.stdout)
    assert found[0] == found[1] == found[2]
    assert [line.split("\t")[0] for line in found[0].decode().splitlines()] == text.splitlines()


def test_a_pipe_is_answered_sentence_by_sentence(model: Path):
    command = [sys.executable, "-m", "bilstm_crf", "predict", str(model)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(2):
            process.stdin.write(b"Mira\nsang\n\n")
            process.stdin.flush()
            lines = [process.stdout.readline() for _ in range(3)]
            assert [line.split(b"\t")[0] for line in lines] == [b"Mira", b"sang", b"\n"]
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait(timeout=60) == 0


def test_memory_does_not_grow_with_the_input(model: Path, tmp_path: Path):
    """Neither do a long token and a long sentence fill it (a table of 300 x 10,000 would)."""
    lines = [f"w{number}\n" + "\n" * (number % 19 == 0) for number in range(60_000)]
    block = "x" * 10_000 + "\n" + "a\n" * 3000 + "\n" + "".join(lines)
    peaks = []
    for times in (1, 5):
        path = tmp_path / f"{times}.txt"
        path.write_text(block * times, encoding="utf-8")
        arguments = ["predict", str(model), str(path), "--output", "/dev/null", "--threads", "1"]
        program = (
            "import resource, sys\n"
            "from bilstm_crf.cli import app\n"
            f"app({arguments!r}, standalone_mode=False)\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        result = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, check=True, text=True
        )
        peaks.append(int(result.stdout.split()[-1]))
    assert peaks[1] < peaks[0] + 40_000  # kilobytes


SHEET = 'Sentence #,Word,Tag\nSentence: 1,Mira,B-PER\n,",",O\nSentence: 2,"""",O\n,Holt,B-PER\n'


def test_a_sheet_keeps_its_columns_in_any_form_of_output(model: Path, tmp_path: Path):
    path = tmp_path / "in.csv"
    path.write_text(SHEET, encoding="utf-8")
    labels = labels_of(model, [["Mira", ","], ['"', "Holt"]])
    lines = SHEET.splitlines()
    wanted = [f"{lines[0]},predicted"] + [
        f"{a},{b}" for a, b in zip(lines[1:], labels, strict=True)
    ]
    for arguments in ([path], ["-"], []):
        found = run(model, *arguments, "--output-format", "conll", stdin=SHEET.encode())
        assert found.decode().splitlines() == wanted
    tokens = run(model, path).decode()
    assert tokens == (
        f'Word\tpredicted\nMira\t{labels[0]}\n,\t{labels[1]}\n\n"\t{labels[2]}\nHolt\t{labels[3]}\n'
    )
    rows = [json.loads(line) for line in run(model, path, "--output-format", "jsonl").splitlines()]
    assert len(rows) == 2
    assert rows[0]["text"].startswith("Mira")


def labels_of(model: Path, sentences: list[list[str]]) -> list[str]:
    return [label for row in Tagger.load(model).predict_tokens(sentences) for label in row]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_file_that_says_its_encoding_is_read_in_it(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], encoding: str
):
    path = tmp_path / "in.txt"
    for text, input_format in (
        ("Zoë\tx\r\nsang\tx\r\n", "tokens"),
        ("Zoë sang in the rain.\n", "text"),
        ('{"text": "Zoë sang"}\n', "jsonl"),
    ):
        path.write_bytes(text.encode(encoding))
        plain = tmp_path / "plain.txt"
        plain.write_bytes(text.encode())
        expected = run(model, plain)
        assert "Zoë".encode() in expected
        assert run(model, path) == expected
        assert run(model, path, "--input-format", input_format) == expected
        assert run(model, path, "--set", f"data.encoding={encoding}") == expected
        assert run(model, stdin=path.read_bytes()) == expected
    assert f"but data.encoding is latin-1; leave it out or set it to {encoding}" in fails(
        capsys, model, path, "--set", "data.encoding=latin-1"
    )
    path.write_bytes("Mira\nsang\n".encode(encoding + "-le"))
    assert f"{path}:1: NUL character: not a text file, or one in UTF-16" in fails(
        capsys, model, path
    )
