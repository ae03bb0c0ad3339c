"""Training on data that has no entities, others than expected, or words without end."""

import csv
import io
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from bilstm_crf import Tagger
from bilstm_crf.prediction.model_file import load_model


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("patience", [None, 1])
def test_dev_without_entities_chooses_nothing(
    command: Callable, make_config: Callable, tmp_path: Path, patience: int | None
) -> None:
    write(tmp_path / "dev.conll", "It O\nrained O\n. O\n\nNobody O\ncame O\n")
    done = command("train", make_config(patience=patience), "--output-dir", tmp_path / "run")
    assert done.code == 0
    assert "warning: no entities in the dev data" in done.err
    assert "dev F1 0.00" in done.err
    assert "epoch 3/3" in done.err
    assert "nan" not in done.err.lower()
    assert load_model(tmp_path / "run" / "model.pt").record["epoch"] == 3


def as_sheet(text: str) -> str:
    """Return space-separated columns as a CSV that numbers its sentences."""
    found = io.StringIO()
    writer = csv.writer(found)
    writer.writerow(["Sentence #", "Word", "Tag"])
    for number, block in enumerate(text.strip().split("\n\n"), 1):
        for place, row in enumerate(block.split("\n")):
            writer.writerow(["" if place else f"Sentence: {number}", *row.split(" ")])
    return found.getvalue()


@pytest.mark.parametrize(("change", "encoding"), [(as_sheet, "utf-8"), (str, "utf-16")])
def test_a_sheet_and_utf_16_train_the_model_of_the_plain_file(
    command: Callable, make_config: Callable, ending: Callable, tmp_path: Path,
    change: Callable, encoding: str,
) -> None:  # fmt: skip
    plain = make_config()
    assert command("train", plain, "--output-dir", tmp_path / "plain").code == 0
    for split in ("train", "dev", "test"):
        text = (tmp_path / f"{split}.conll").read_text(encoding="utf-8")
        (tmp_path / f"{split}.csv").write_text(change(text), encoding=encoding)
    config = make_config(data={split: f"{split}.csv" for split in ("train", "dev", "test")})
    done = command("train", config, "--output-dir", tmp_path / "sheet")
    assert done.code == 0, done.err
    assert ending(tmp_path / "sheet") == ending(tmp_path / "plain")
    scores = command("eval", tmp_path / "sheet", tmp_path / "test.csv")
    assert scores.code == 0
    expected = command("eval", tmp_path / "plain", tmp_path / "test.conll").out
    assert scores.out == expected.replace("test.conll:", "test.csv:")


def test_training_data_without_entities(
    command: Callable,
    make_config: Callable,
    tmp_path: Path,
    metrics_of: Callable,
    report_of: Callable,
) -> None:
    write(tmp_path / "train.conll", "the O\nboats O\nstay O\n\nrain O\nfell O\n\nhm O\n")
    path = make_config(data={"dev": "train.conll", "test": "train.conll"})
    done = command("train", path, "--output-dir", tmp_path / "run")
    assert done.code == 0
    assert "warning: no entities in the training data" in done.err
    assert all(0 <= line["train_loss"] < 1e-6 for line in metrics_of(tmp_path / "run"))
    assert "loss 0.0000" in done.err
    assert "loss -" not in done.err
    report = report_of(tmp_path / "run")
    assert report["test"]["f1"] == 0.0
    assert report["test"]["support"] == 0
    tagger = Tagger.load(tmp_path / "run" / "model.pt")
    assert tagger.predict_tokens([["the", "boats"], ["unheard"]]) == [["O", "O"], ["O"]]


@pytest.mark.parametrize("constraints", ["none", "decode", "train_and_decode"])
def test_labels_against_the_scheme_cost_no_more_than_others(
    command: Callable, make_config: Callable, tmp_path: Path, constraints: str, metrics_of: Callable
) -> None:
    write(tmp_path / "train.conll", "Ada O\nBerg I-PER\nsang I-PER\n\nFen B-LOC\nwaits O\n")
    path = make_config(data={"dev": "train.conll", "test": None}, epochs=2,
                       model={"crf": {"constraints": constraints}})  # fmt: skip
    done = command("train", path, "--output-dir", tmp_path / "run")
    assert done.code == 0
    assert f"repaired in memory ({tmp_path}/train.conll:2: I-PER continues nothing" in done.err
    assert all(0 < line["train_loss"] < 20 for line in metrics_of(tmp_path / "run"))


def test_entity_types_that_training_never_saw_count_as_missed(
    command: Callable, make_config: Callable, tmp_path: Path, report_of: Callable
) -> None:
    path = make_config()
    write(
        tmp_path / "test.conll",
        "Ada B-PER\nBerg I-PER\nsang O\n\nFen B-LOC\nwaits O\n\nThe O\nMill B-ORG\nhired O\n",
    )
    done = command("train", path, "--output-dir", tmp_path / "run")
    assert done.code == 0
    assert "entity types in test that training never saw, scored as missed: ORG (1)" in done.err
    report = report_of(tmp_path / "run")
    assert report["test"]["support"] == 3
    assert report["test"]["types"]["ORG"]["support"] == 1
    assert report["test"]["types"]["ORG"]["recall"] == 0.0


def test_a_token_of_ten_thousand_characters(
    command: Callable, make_config: Callable, tmp_path: Path
) -> None:
    long = "x" * 10_000
    text = f"{long} B-LOC\n" + "word O\n" * 299 + "\nAda B-PER\n"
    path = make_config(data={"train": "long.conll", "test": None}, epochs=1)
    write(tmp_path / "long.conll", text)
    done = command("train", path, "--output-dir", tmp_path / "run")
    assert done.code == 0
    assert "1 distinct words longer than 40 characters" in done.err


@pytest.mark.slow
def test_long_tokens_and_long_sentences_need_little_memory(
    command_beside: Callable, make_config: Callable, tmp_path: Path
) -> None:
    sentences = ["x" * 10_000 + " B-LOC\n" + "word O\n" * 5] * 16 + ["word O\n" * 300] * 16
    write(tmp_path / "train.conll", "\n".join(sentences))
    model = {"word_embeddings": {"size": 100}, "char_encoder": {}, "lstm": {"hidden_size": 128}}
    path = make_config(epochs=1, batch_size=32, model=model)
    done = command_beside("train", path, "--output-dir", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert largest < 2 * 2**20  # KiB
