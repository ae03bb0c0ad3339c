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


@dataclass(frozen=True)
class Lattice:
    """The scores of one batch; ``states`` are the labels, then the boundary.

    Attributes:
        emissions: scores of the labels at each token; anything in the padding.
        pairs: ``[i, j]`` scores state i followed by state j, in the working type.
        mask: True at real tokens, or None when all are.
        restricted: whether single labels are forbidden (minus infinity in ``emissions``).
        constrained: whether pairs of labels are forbidden (minus infinity in ``pairs``).
    """

    emissions: Float[Tensor, "batch time labels"]
    pairs: Float[Tensor, "states states"]
    mask: Bool[Tensor, "batch time"] | None
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
        scores[:: time + 1, labels] = 0.0  # the first step and the last
        tokens = scores[1:-1, :labels]
        tokens.copy_(self.emissions.permute(1, 2, 0))
        if self.mask is not None:
            padding = ~self.mask.T
            tokens.masked_fill_(padding[:, None], -torch.inf)
            scores[1:-1, labels].masked_fill_(padding, 0.0)
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
    return Lattice(scores, pairs, mask, allowed is not None, forbidden is not None)


def path_states(
    labels: Int[Tensor, "batch time"], mask: Bool[Tensor, "batch time"] | None, boundary: int
) -> Int[Tensor, "batch steps"]:
    """Return the states that label paths pass, both ends included."""
    states = labels.new_full((labels.shape[0], labels.shape[1] + 2), boundary)
    inner = states[:, 1:-1]
    inner.copy_(labels)
    if mask is not None:
        inner.masked_fill_(~mask, boundary)
    return states
