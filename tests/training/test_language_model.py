"""The second task: its loss against one worked out word by word, and what it leaves behind."""

import math

import numpy as np
import pytest
import torch

from bilstm_crf.corpus.batches import Batch
from bilstm_crf.training.language_model import LanguageModelSection, NeighbourWords

COUNTS = np.array([0, 9, 5, 3, 2, 1, 1])
LENGTHS = [4, 2, 1]
WORDS = torch.tensor([3, 1, 6, 2])  # rows of the four distinct forms
INDEX = torch.tensor([[0, 1, 2, 1], [3, 0, 0, 0], [1, 0, 0, 0]])


def guesser(weight: float = 1.0) -> NeighbourWords:
    torch.manual_seed(3)
    model = NeighbourWords(LanguageModelSection(weight=weight, size=4, samples=8), 6, COUNTS)
    model.weight.data.normal_()
    return model


def batch(index: torch.Tensor = INDEX) -> Batch:
    return Batch(
        words=WORDS,
        chars=torch.zeros(4, 1, dtype=torch.int64),
        form_features=torch.zeros(4, 0, dtype=torch.int64),
        index=index,
        lengths=torch.tensor(LENGTHS),
    )


def word_by_word(model: NeighbourWords, states: torch.Tensor, sampled: list[int]) -> torch.Tensor:
    """The losses of the sentences, by the definition."""
    shares = np.maximum(COUNTS, 1) / np.maximum(COUNTS, 1).sum()

    def corrected(guess: torch.Tensor, row: int) -> torch.Tensor:
        chance = 1 - (1 - shares[row]) ** 8
        return guess @ model.weight[row] - math.log(chance)

    losses = []
    for number, length in enumerate(LENGTHS):
        rows = WORDS[INDEX[number]].tolist()
        loss = torch.zeros(())
        for here in range(length):
            for there, layer, part in (
                (here + 1, model.ahead, states[number, here, :3]),
                (here - 1, model.behind, states[number, here, 3:]),
            ):
                if 0 <= there < length:
                    guess = torch.tanh(layer(part))
                    candidates = sorted({rows[there], *sampled})
                    scores = torch.stack([corrected(guess, row) for row in candidates])
                    loss = loss + scores.logsumexp(0) - corrected(guess, rows[there])
        losses.append(loss)
    return torch.stack(losses)


@pytest.mark.parametrize("sampled", [[0, 1, 2, 5], [6], [1]])  # of [1], nothing is left at times
def test_loss_and_gradients_are_those_of_the_definition(sampled: list[int]) -> None:
    model = guesser()
    states = torch.randn(3, 4, 6, requires_grad=True)
    found = model(states, batch(), torch.tensor(sampled))
    expected = word_by_word(model, states, sampled)
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
    assert found[2] == 0  # a single word has no neighbours
    inputs = [states, *model.parameters()]
    ours = torch.autograd.grad(found[:2] @ torch.tensor([1.0, 3.0]), inputs)
    theirs = torch.autograd.grad(expected[:2] @ torch.tensor([1.0, 3.0]), inputs)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one.to_dense(), other, rtol=1e-5, atol=1e-5)


def test_the_weight_multiplies_it() -> None:
    states, sampled = torch.randn(3, 4, 6), torch.tensor([1, 4])
    full, part = guesser()(states, batch(), sampled), guesser(0.25)(states, batch(), sampled)
    torch.testing.assert_close(part, full / 4)


def test_padding_does_not_matter() -> None:
    model, sampled = guesser(), torch.tensor([1, 2])
    states = torch.randn(3, 4, 6)
    wider = torch.cat([states, torch.full((3, 2, 6), 1e3)], 1)
    longer = batch(torch.cat([INDEX, torch.zeros(3, 2, dtype=torch.int64)], 1))
    torch.testing.assert_close(model(wider, longer, sampled), model(states, batch(), sampled))


def test_samples_are_distinct_follow_the_counts_and_the_seed() -> None:
    model = guesser()
    assert torch.equal(model.sample((1, 2, 3)), model.sample((1, 2, 3)))
    draws = [model.sample((1, epoch)) for epoch in range(2000)]
    assert all(len(rows) == len(rows.unique()) for rows in draws)
    seen = torch.cat(draws).bincount(minlength=len(COUNTS)) / len(draws)
    torch.testing.assert_close(seen, model.log_chances.exp(), rtol=0, atol=0.04)


def test_only_words_at_hand_get_a_gradient() -> None:
    model = guesser()
    model(torch.randn(3, 4, 6), batch(), torch.tensor([4])).sum().backward()  # type: ignore[no-untyped-call]
    gradient = model.weight.grad
    assert gradient is not None
    assert gradient.is_sparse
    touched = gradient.to_dense().abs().sum(1) > 0
    assert touched.tolist() == [False, True, True, True, True, False, True]


@pytest.mark.parametrize("counts", [np.array([0]), np.array([0, 1])])
def test_a_vocabulary_of_almost_nothing_gives_finite_losses(counts: np.ndarray) -> None:
    model = NeighbourWords(LanguageModelSection(size=2, samples=4), 4, counts)
    one = Batch(
        words=torch.tensor([len(counts) - 1]),
        chars=torch.zeros(1, 1, dtype=torch.int64),
        form_features=torch.zeros(1, 0, dtype=torch.int64),
        index=torch.zeros(1, 3, dtype=torch.int64),
        lengths=torch.tensor([3]),
    )
    assert model(torch.randn(1, 3, 4), one, model.sample((1,))).isfinite().all()
