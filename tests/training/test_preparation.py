"""What is learned before training: pretrained vectors as the network takes them."""

from pathlib import Path

import pytest

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


def test_files_side_by_side_add_up_their_sizes(tmp_path: Path) -> None:
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text(ROWS, encoding="utf-8")
    files = [str(tmp_path / name) for name in ("one.txt", "two.txt")]
    vectors = PretrainedVectors(WordEmbeddingsSection(size=6, vectors=files), None)
    assert vectors.size == 6
    assert vectors.matrix(["holt"]).tolist() == [pytest.approx([0.4, 0.5, 0.6] * 2)]
