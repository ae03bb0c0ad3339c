"""Every shipped config loads, says what it is, and belongs to a corpus that can be had."""

import tomllib
from pathlib import Path

import pytest

from bilstm_crf.config import load_config

ROOT = Path(__file__).parent.parent
CONFIGS = sorted((ROOT / "configs").rglob("*.yaml"))
CORPORA = tomllib.loads((ROOT / "data" / "corpora.toml").read_text(encoding="utf-8"))


def test_there_is_a_config_for_every_corpus() -> None:
    names = {path.stem for path in CONFIGS}
    assert names >= {"sample", "sample_zh", *(CORPORA.keys() - {"glove"})}


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_config_loads_and_its_files_can_be_had(path: Path) -> None:
    config = load_config(path)
    used = [config.data.train, config.data.dev, config.data.test]
    used += [str(vectors) for vectors in config.model.word_embeddings.vector_paths]
    for file in used:
        assert isinstance(file, str)
        name, stored = Path(file).resolve().relative_to(ROOT / "data").parts
        if name in CORPORA:
            assert stored in {row["name"] for row in CORPORA[name]["files"]}
        else:
            assert (ROOT / "data" / name / stored).is_file()


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_header_gives_command_data_and_licence(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    header = text[: text.index("\ndata:")]
    assert all(line.startswith("#") or not line for line in header.split("\n"))
    assert f"#   bilstm-crf train {path.relative_to(ROOT).as_posix()}\n" in header
    assert "# Data: " in header
    if path.stem in CORPORA:
        assert f"#   scripts/get_data {path.stem}" in header
        assert CORPORA[path.stem]["home"] in header
