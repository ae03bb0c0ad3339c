"""The word table: rows tuned, rows stored, and words left out in training."""

from pathlib import Path

import numpy as np
import torch

from bilstm_crf.corpus.vocabulary import UNKNOWN
from bilstm_crf.model.word_embeddings import WordEmbeddings, WordEmbeddingsSection


def dropped_share(table: WordEmbeddings, row: int, trials: int = 20_000) -> float:
    """Return how often a row was replaced by the unknown word."""
    torch.manual_seed(1)
    vectors = table(torch.full((trials,), row))
    return float((vectors == table.weight[UNKNOWN]).all(1).float().mean())


def test_a_rare_word_is_dropped_by_its_count() -> None:
    table = WordEmbeddings(5, 0, 3, dropout=0.1)
    table.drop_rare(np.array([0, 0, 1, 3, 1000]), 0.5)
    shares = [dropped_share(table, row) for row in (1, 2, 3, 4)]
    # 0.5 / 1.5, 0.5 / 3.5; else the rate of all words. Four standard errors of 20,000 trials.
    np.testing.assert_allclose(shares, [0.1, 1 / 3, 1 / 7, 0.1], atol=0.0134)


def test_nothing_is_dropped_outside_training() -> None:
    table = WordEmbeddings(3, 0, 3, dropout=0.5).eval()
    table.drop_rare(np.array([0, 1, 1]), 5.0)
    assert dropped_share(table, 1, 50) == 0
    assert torch.equal(table(torch.tensor([1, 2])), table.weight[1:])


def test_rates_are_settings_and_not_saved() -> None:
    table = WordEmbeddings(3, 0, 3, dropout=0.5)
    table.drop_rare(np.array([0, 1, 1]), 1.0)
    assert set(table.state_dict()) == {"weight", "stored"}


def test_stored_rows_follow_the_trained_ones() -> None:
    table = WordEmbeddings(3, 2, 2).eval()
    vectors = np.array([[1, 2], [3, 4], [5, 6]], dtype=np.float32)
    table.load_pretrained(np.array([2, 3, 4]), vectors)
    assert table(torch.tensor([4, 2, 3])).tolist() == [[5, 6], [1, 2], [3, 4]]
    assert table.stored.dtype == torch.float16
    assert table(torch.tensor([4])).dtype == torch.float32


def test_the_gradient_holds_the_rows_of_the_batch_alone() -> None:
    table = WordEmbeddings(50, 2, 3)
    table(torch.tensor([7, 9, 7])).sum().backward()
    assert table.sparse_weight is table.weight
    assert table.weight.grad is not None
    assert table.weight.grad.is_sparse
    gradient = table.weight.grad.coalesce()
    assert gradient.indices().tolist() == [[7, 9]]
    assert gradient.values().tolist() == [[2.0] * 3, [1.0] * 3]


def test_a_table_that_is_not_tuned_gets_no_gradient() -> None:
    table = WordEmbeddings(5, 0, 3, trainable=False)
    assert table.sparse_weight is None
    assert not table(torch.tensor([1])).requires_grad


def test_without_words_vectors_are_empty() -> None:
    table = WordEmbeddings(1, 0, 0)
    assert table.sparse_weight is None
    assert table(torch.tensor([0, 0])).shape == (2, 0)


def test_several_vectors_files_are_paths_from_the_configuration(tmp_path: Path) -> None:
    section = WordEmbeddingsSection(vectors=["a.txt", "b.gz"]).resolve(tmp_path)
    assert section.vector_paths == [tmp_path / "a.txt", tmp_path / "b.gz"]
    assert WordEmbeddingsSection(vectors="a.txt").resolve(tmp_path).vector_paths == [
        tmp_path / "a.txt"
    ]
    assert WordEmbeddingsSection().resolve(tmp_path).vector_paths == []
