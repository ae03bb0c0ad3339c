"""The lattice of a batch: all label paths, with one boundary state for both ends and the padding.

A sentence of n tokens is seen as ``boundary, label 1 … label n, boundary, boundary …``: before
the first token, behind the last one and in the padding the chain stands in one extra state. The
score of boundary → label is the label's start score, that of label → boundary its end score,
and staying in the boundary is free. Sentences of all lengths, that of length 0 included, are
then the same chain with the same transitions at every step, and no recursion needs a mask.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from bilstm_crf.model.crf_arrays import native


@dataclass(frozen=True)
class Lattice:
    """The scores of one batch; ``states`` are the labels, then the boundary.

    Attributes:
        emissions: scores of the labels at each token; anything in the padding.
        pairs: ``[i, j]`` scores state i followed by state j, in the working type.
        padding: True behind the sentence, or None when all tokens are real.
        restricted: whether single labels are forbidden (minus infinity in ``emissions``).
        constrained: whether pairs of labels are forbidden (minus infinity in ``pairs``).
    """

    emissions: Float[Tensor, "batch time labels"]
    pairs: Float[Tensor, "states states"]
    padding: Bool[Tensor, "batch time"] | None
    restricted: bool
    constrained: bool

    @property
    def boundary(self) -> int:
        """The boundary's state, one past the last label."""
        return self.emissions.shape[2]

    def scores(self) -> Float[Tensor, "steps states batch"]:
        """Score each state at each step, from before the first token to behind the last."""
        batch, time, labels = self.emissions.shape
        scores = self.pairs.new_full((time + 2, labels + 1, batch), -torch.inf)
        xp, (states, tokens) = native(scores, self.emissions)
        states[:: time + 1, labels] = 0.0  # the first step and the last
        tokens = tokens.swapaxes(0, 1).swapaxes(1, 2)  # (time, labels, batch)
        if self.padding is not None:
            _, (padding,) = native(self.padding)
            tokens = xp.where(padding.T[:, None], -torch.inf, tokens)
            states[1:-1, labels] = xp.where(padding.T, 0.0, -torch.inf)
        states[1:-1, :labels] = tokens
        return scores


def working_dtype(device: torch.device) -> torch.dtype:
    """Return the type to compute in: double wherever the device has it.

    Its range (about ±700 in natural log) is what lets the recursions work on probabilities
    instead of their logs, and its precision makes gradients exact to the inputs' own rounding.
    """
    return torch.float32 if device.type == "mps" else torch.float64


def build_lattice(
    emissions: Float[Tensor, "batch time labels"],
    start: Float[Tensor, " labels"],
    transitions: Float[Tensor, "labels labels"],
    end: Float[Tensor, " labels"],
    *,
    mask: Bool[Tensor, "batch time"] | None = None,
    forbidden: Bool[Tensor, "states states"] | None = None,
    allowed: Bool[Tensor, "batch time labels"] | None = None,
) -> Lattice:
    """Lay out a batch, detached from autograd.

    Args:
        emissions: scores of the labels; what the padding holds does not matter.
        start: scores of a sentence's first label.
        transitions: ``[i, j]`` scores label i followed by label j.
        end: scores of a sentence's last label.
        mask: True at real tokens.
        forbidden: pairs of states that must not follow each other.
        allowed: labels that each token may have; all of them when None.
    """
    scores = emissions.detach()
    if scores.dtype not in (torch.float32, torch.float64):
        scores = scores.float()
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -torch.inf)
    labels = emissions.shape[2]
    pairs = transitions.new_zeros(labels + 1, labels + 1, dtype=working_dtype(emissions.device))
    pairs[:labels, :labels] = transitions.detach()
    pairs[:labels, labels] = end.detach()
    pairs[labels, :labels] = start.detach()
    if forbidden is not None:
        pairs.masked_fill_(forbidden, -torch.inf)
    padding = None if mask is None else ~mask
    return Lattice(scores, pairs, padding, allowed is not None, forbidden is not None)


def path_states(
    labels: Int[Tensor, "batch time"], padding: Bool[Tensor, "batch time"] | None, boundary: int
) -> Int[Tensor, "batch steps"]:
    """Return the states that label paths pass, both ends included."""
    states = labels.new_full((labels.shape[0], labels.shape[1] + 2), boundary)
    inner = states[:, 1:-1]
    inner.copy_(labels)
    if padding is not None:
        inner.masked_fill_(padding, boundary)
    return states
