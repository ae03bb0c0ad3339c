"""What is learned before training: pretrained vectors as the network takes them."""

from pathlib import Path

import pytest

from bilstm_crf.errors import ConfigError
from bilstm_crf.model.word_embeddings import WordEmbeddingsSection
from bilstm_crf.training.preparation import PretrainedVectors

ROWS = "mira 0.1 0.2 0.3\nholt 0.4 0.5 0.6\n"


def test_what_is_odd_about_a_vectors_file_is_told_once_with_its_name(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "announced.txt"
    path.write_text(f"9 3\n{ROWS}", encoding="utf-8")
    section = WordEmbeddingsSection(size=3, vectors=str(path))
    assert list(PretrainedVectors(section, None).words) == ["mira", "holt"]
    warnings = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert warnings == [f"{path}: 9 rows announced, 2 read"]


def test_vectors_of_another_size_than_configured_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "small.txt"
    path.write_text(ROWS, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"size is 100, but .*small\.txt have size 3; set"):
        PretrainedVectors(WordEmbeddingsSection(size=100, vectors=str(path)), None)
