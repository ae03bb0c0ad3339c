"""The log partition and the log likelihood of label paths, with gradients in closed form.

The derivative of the log partition by a score is the probability that a path uses that score;
the derivative of a path's own score is 1 for each use (Lafferty, McCallum and Pereira 2001,
section 3). So one run of both recursions gives the value and all gradients, and nothing has to
be replayed backwards.
"""

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from bilstm_crf.model.crf_lattice import Lattice, build_lattice, path_states, working_dtype
from bilstm_crf.model.crf_messages import run_messages

Scores = tuple[Tensor, Tensor, Tensor, Tensor]
"""Emissions (batch, time, labels), start (labels), transitions (labels, labels), end (labels)."""


def log_partition(scores: Scores, **restrictions: Tensor | None) -> Float[Tensor, " batch"]:
    """Sum over all paths; ``restrictions`` are those of :func:`build_lattice`."""
    return _LogLikelihood.apply(*scores, None, restrictions)  # type: ignore[no-any-return, no-untyped-call]


def log_likelihood(
    scores: Scores, labels: Int[Tensor, "batch time"], **restrictions: Tensor | None
) -> Float[Tensor, " batch"]:
    """Score one path per sentence against all; what ``labels`` holds in the padding is free."""
    return _LogLikelihood.apply(*scores, labels, restrictions)  # type: ignore[no-any-return, no-untyped-call]


def path_score(
    scores: Scores,
    labels: Int[Tensor, "batch time"],
    mask: Bool[Tensor, "batch time"] | None,
    forbidden: Bool[Tensor, "states states"] | None,
) -> Float[Tensor, " batch"]:
    """Score one path per sentence; minus infinity where it uses a forbidden pair of states."""
    emissions, start, transitions, end = scores
    if emissions.dtype not in (torch.float32, torch.float64):
        emissions = emissions.float()
    dtype, states = working_dtype(emissions.device), len(start) + 1
    corner = start.new_zeros(1)  # staying in the boundary
    rows = torch.cat([transitions, end[:, None]], 1), torch.cat([start, corner])[None]
    pairs = torch.cat(rows).to(dtype)
    if forbidden is not None:
        pairs = pairs.masked_fill(forbidden, -torch.inf)
    padding = None if mask is None else ~mask
    path = path_states(labels, padding, states - 1)
    if padding is not None:
        labels = labels.masked_fill(padding, 0)
    tokens = emissions.gather(2, labels[:, :, None])[:, :, 0]
    if padding is not None:
        tokens = tokens.masked_fill(padding, 0.0)
    used = pairs.take(path[:, :-1] * states + path[:, 1:])
    return (tokens.sum(1, dtype=dtype) + used.sum(1)).to(emissions.dtype)


class _LogLikelihood(torch.autograd.Function):
    """The score of the label paths minus the log partition; without paths, the log partition."""

    @staticmethod
    def forward(
        ctx: Any,
        emissions: Tensor,
        start: Tensor,
        transitions: Tensor,
        end: Tensor,
        labels: Tensor | None,
        restrictions: dict[str, Tensor | None],
    ) -> Tensor:
        lattice = build_lattice(emissions, start, transitions, end, **restrictions)
        messages = run_messages(lattice)
        value = messages.log_partition
        path = None
        if labels is not None:
            path = _Path(lattice, labels)
            value = (path.score - value).clamp_(max=0.0)  # rounding must not make a loss negative
        ctx.forbidden = restrictions.get("forbidden")
        ctx.boundary, ctx.messages, ctx.path = lattice.boundary, messages, path
        ctx.dtypes = emissions.dtype, transitions.dtype
        ctx.set_materialize_grads(False)
        return value.to(lattice.emissions.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor | None) -> tuple[Tensor | None, ...]:
        if gradient is None:
            return None, None, None, None, None, None
        path, labels = ctx.path, ctx.boundary
        weights = gradient.to(ctx.messages.log_partition.dtype)  # (batch)
        states, pairs = ctx.messages.expected(weights if path is None else -weights)
        emissions = states[1:-1, :, :labels].transpose(0, 1)
        emissions = emissions.to(ctx.dtypes[0], memory_format=torch.contiguous_format)
        if path is not None:
            path.add_to(emissions, pairs, weights)
        if ctx.forbidden is not None:
            pairs.masked_fill_(ctx.forbidden, 0.0)
        pairs = pairs.to(ctx.dtypes[1])
        start, end = pairs[labels, :labels], pairs[:labels, labels]
        return emissions, start, pairs[:labels, :labels], end, None, None


class _Path:
    """One label path per sentence: its score, and which scores it uses.

    Args:
        lattice: the batch.
        labels: the paths; any value in the padding.
    """

    def __init__(self, lattice: Lattice, labels: Int[Tensor, "batch time"]):
        self.padding = lattice.padding
        states = path_states(labels, self.padding, lattice.boundary)
        if self.padding is not None:
            labels = labels.masked_fill(self.padding, 0)
        self.tokens = labels[:, :, None]  # (batch, time, 1)
        self.pairs = states[:, :-1] * len(lattice.pairs) + states[:, 1:]  # (batch, time + 1)
        tokens = lattice.emissions.gather(2, self.tokens)[:, :, 0]
        if self.padding is not None:
            tokens = tokens.masked_fill(self.padding, 0.0)
        self.score = lattice.pairs.take(self.pairs).sum(1)
        self.score += tokens.sum(1, dtype=self.score.dtype)

    def add_to(
        self,
        emissions: Float[Tensor, "batch time labels"],
        pairs: Float[Tensor, "states states"],
        weights: Float[Tensor, " batch"],
    ) -> None:
        """Add each sentence's weight to the emissions and pairs that its path uses."""
        columns = weights[:, None]
        used = columns.expand_as(self.pairs).reshape(-1)
        pairs.view(-1).scatter_add_(0, self.pairs.reshape(-1), used)
        columns = columns.to(emissions.dtype).expand(self.tokens.shape[:2])
        if self.padding is not None:
            columns = columns.masked_fill(self.padding, 0.0)
        emissions.scatter_add_(2, self.tokens, columns[:, :, None])
