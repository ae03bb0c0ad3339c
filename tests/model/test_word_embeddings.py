"""The word table: rare words are left out in training, by how often they were seen."""

import numpy as np
import torch

from bilstm_crf.corpus.vocabulary import UNKNOWN
from bilstm_crf.model.word_embeddings import WordEmbeddings


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
