"""A second task for the BiLSTM: to guess each token's neighbours from what it has read so far.

Labels say little about most words: nine tokens of ten are outside all entities. Its neighbours say
something about every one of them. So the forward LSTM also guesses the next word of the training
text, the backward LSTM the one before, and what they learn of words and contexts serves the labels.
The guessing ends with training; nothing of it is in the finished model.

Rei 2017, "Semi-supervised Multitask Learning for Sequence Labeling", section 3,
https://arxiv.org/abs/1704.07156, with a sampled softmax (Jean et al. 2015, "On Using Very Large
Target Vocabulary for Neural Machine Translation", section 3, https://arxiv.org/abs/1412.2007): a
word is told from some hundred others, not from the whole vocabulary.
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from bilstm_crf.corpus.batches import Batch
from bilstm_crf.section import Section


class LanguageModelSection(Section):
    """Guessing the neighbouring words, in training only."""

    weight: float = Field(default=0.1, ge=0, le=100)
    """Weight of a word's loss beside that of the labels; 0 leaves the guessing out."""

    size: int = Field(default=50, ge=1, le=1024)
    """Size of the vectors in which a guess and a word are compared."""

    samples: int = Field(default=512, ge=1, le=65536)
    """Draws of words of the training text that a right word is told from."""


class NeighbourWords(nn.Module):
    """The loss of guessing the next word from the left and the last one from the right.

    Args:
        section: sizes and weight.
        state_size: size of the BiLSTM's output, both directions.
        counts: (trained rows,) how often each row of the word table occurs in the training data.
    """

    def __init__(self, section: LanguageModelSection, state_size: int, counts: NDArray[np.int64]):
        super().__init__()
        self.weight_in_loss, self._samples = section.weight, section.samples
        self.ahead = nn.Linear(state_size // 2, section.size)
        self.behind = nn.Linear(state_size // 2, section.size)
        self.weight = nn.Parameter(torch.empty(len(counts), section.size).uniform_(-0.1, 0.1))
        shares = np.maximum(counts, 1) / np.maximum(counts, 1).sum()
        self._up_to = shares.cumsum()
        # Logarithm of the chance that a row is among the samples.
        chances = -np.expm1(section.samples * np.log1p(-np.minimum(shares, 1 - 1e-12)))
        self.register_buffer("log_chances", torch.from_numpy(np.log(chances)).float(), False)

    log_chances: Tensor

    @property
    def sparse_weight(self) -> nn.Parameter:
        """The words' vectors; a step changes only those of the batch and of the samples."""
        return self.weight

    def sample(self, seed: tuple[int, ...]) -> Int64[Tensor, "samples"]:
        """Return distinct rows, drawn by how often they occur; the same for the same seed."""
        drawn = np.random.default_rng(seed).random(self._samples)
        rows = np.unique(np.searchsorted(self._up_to, drawn))
        return torch.from_numpy(np.minimum(rows, len(self._up_to) - 1))

    def forward(
        self, states: Float[Tensor, "batch time size"], batch: Batch, sampled: Int64[Tensor, "n"]
    ) -> Float[Tensor, "batch"]:
        """Return each sentence's weighted loss, summed over its words and both directions.

        Args:
            states: output of the BiLSTM, the forward direction first.
            batch: the sentences.
            sampled: rows from :meth:`sample`, rising.
        """
        table = F.embedding(torch.cat([sampled, batch.words]), self.weight, sparse=True)
        others, own = table[: len(sampled)], table[len(sampled) :]
        # Axes (direction, time, batch): time first, as the states lie in memory.
        index, read = batch.index.t(), states.float().transpose(0, 1)
        half = read.shape[2] // 2
        guesses = [self.ahead(read[:-1, :, :half]), self.behind(read[1:, :, half:])]
        guess = torch.tanh(torch.stack(guesses))
        words, rows = F.embedding(index, own), batch.words[index]
        word, row = torch.stack([words[1:], words[:-1]]), torch.stack([rows[1:], rows[:-1]])
        right = (guess * word).sum(3) - self.log_chances[row]
        wrong = _LogSumOfOthers.apply(  # type: ignore[no-untyped-call]
            guess.flatten(0, 2), others, self.log_chances[sampled], sampled, row.flatten()
        )
        loss = torch.logaddexp(wrong.view_as(right), right) - right
        return loss.masked_fill(~batch.mask.t()[1:], 0.0).sum((0, 1)) * self.weight_in_loss


class _LogSumOfOthers(torch.autograd.Function):
    """The log of the summed weights of all sampled words but the right one, for each guess.

    Its derivative by a word's score is that word's share of the sum; so of the many scores one
    tensor is enough, and the gradients are two matrix products.
    """

    @staticmethod
    def forward(
        ctx: Any,
        guesses: Float[Tensor, "guesses size"],
        others: Float[Tensor, "n size"],
        log_chances: Float[Tensor, "n"],
        sampled: Int64[Tensor, "n"],
        rows: Int64[Tensor, "guesses"],
    ) -> Float[Tensor, "guesses"]:
        scores = torch.addmm(-log_chances, guesses, others.t())
        # Where the right word is, or would be, among the samples, which rise.
        place = torch.searchsorted(sampled, rows).clamp_(max=len(sampled) - 1)[:, None]
        is_right = sampled[place] == rows[:, None]
        scores.scatter_(1, place, scores.gather(1, place).masked_fill_(is_right, -torch.inf))
        top = scores.amax(1, keepdim=True).clamp_(min=torch.finfo(scores.dtype).min)
        weights = scores.sub_(top).exp_()
        total = weights.sum(1)
        ctx.save_for_backward(guesses, others, weights, total)
        return total.log() + top[:, 0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        guesses, others, weights, total = ctx.saved_tensors
        share = torch.where(total > 0, gradient / total, 0.0)[:, None]
        return (weights @ others) * share, weights.t() @ (guesses * share), None, None, None
