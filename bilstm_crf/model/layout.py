"""Tensors with axes (batch, time) whose memory runs through time first.

That is the order in which LSTMs work: what they are given in another one is copied, and so is what
they return. The functions here keep it. While a graph is exported they do the plain thing: there
are no layouts in a graph, and the exporter fixes the length of sentences when it meets them.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F


def look_up(
    index: Int[Tensor, "batch time"], table: Float[Tensor, "rows size"]
) -> Float[Tensor, "batch time size"]:
    """Return the rows of a table."""
    if torch.compiler.is_compiling():
        return F.embedding(index, table)
    return F.embedding(index.t(), table).transpose(0, 1)


def side_by_side(parts: Sequence[Float[Tensor, "batch time _"]]) -> Float[Tensor, "batch time all"]:
    """Return the vectors of each token one behind the other."""
    if torch.compiler.is_compiling():
        return torch.cat([*parts], dim=2)
    return torch.cat([part.transpose(0, 1) for part in parts], dim=2).transpose(0, 1)


def project(
    linear: nn.Linear, vectors: Float[Tensor, "batch time size"]
) -> Float[Tensor, "batch time out"]:
    """Return what a linear layer makes of each token."""
    if torch.compiler.is_compiling():
        return linear(vectors)  # type: ignore[no-any-return]
    return linear(vectors.transpose(0, 1)).transpose(0, 1)  # type: ignore[no-any-return]
