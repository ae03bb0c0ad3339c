"""The sample corpora: reproducible, clean, and not a matter of remembering names."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SAMPLES = ("sample", "sample-zh")
SPLITS = ("train", "dev", "test")


def sentences(path: Path) -> list[list[tuple[str, str]]]:
    blocks = path.read_text(encoding="utf-8").removesuffix("\n").split("\n\n")
    rows = [[line.split("\t") for line in block.split("\n")] for block in blocks]
    return [[(token, label) for token, label in sentence] for sentence in rows]


def entities(path: Path) -> set[tuple[str, ...]]:
    found: set[tuple[str, ...]] = set()
    for sentence in sentences(path):
        current: list[str] = []
        for token, label in [*sentence, ("", "O")]:
            if label[0] in "OBS" and current:
                found.add(tuple(current))
                current = []
            if label != "O":
                current.append(token)
    return found


def test_script_writes_the_same_bytes(tmp_path: Path) -> None:
    script = ROOT / "scripts" / "make_sample_data"
    subprocess.run([sys.executable, script, "--into", tmp_path], check=True)
    written = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.conll"))
    assert written == sorted(Path(name, f"{split}.conll") for name in SAMPLES for split in SPLITS)
    for path in written:
        assert (tmp_path / path).read_bytes() == (ROOT / "data" / path).read_bytes()


@pytest.mark.parametrize("name", SAMPLES)
def test_test_file_asks_for_names_never_seen_in_training(name: str) -> None:
    folder = ROOT / "data" / name
    in_train, in_test = entities(folder / "train.conll"), entities(folder / "test.conll")
    unseen = in_test - in_train
    assert len(unseen) > len(in_test) / 2
    assert in_test & in_train
    known_tokens = {token for entity in in_train for token in entity}
    assert len({token for entity in unseen for token in entity} - known_tokens) > 20


@pytest.mark.parametrize("name", SAMPLES)
def test_no_sentence_stands_in_two_files(name: str) -> None:
    rows = [
        tuple(sentence)
        for split in SPLITS
        for sentence in sentences(ROOT / "data" / name / f"{split}.conll")
    ]
    assert len(rows) == len(set(rows)) >= 600


def test_some_words_are_names_only_in_context() -> None:
    kinds: dict[str, set[str]] = {}
    for sentence in sentences(ROOT / "data" / "sample" / "train.conll"):
        for token, label in sentence:
            kinds.setdefault(token, set()).add(label[2:])
    assert {"PER", "DATE", ""} <= kinds["May"]
    assert {"PER", "LOC"} <= kinds["Jordan"]
