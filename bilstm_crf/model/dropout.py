"""Dropout on sequences: the locked kind, one mask for all time steps of a sentence."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class LockedDropout(nn.Module):
    """Zero the same units at every time step of a sentence.

    Gal and Ghahramani 2016, "A Theoretically Grounded Application of Dropout in Recurrent
    Neural Networks", section 4.2, https://arxiv.org/abs/1512.05287.

    Args:
        probability: share of units that are zeroed; the others are scaled up to keep the mean.
    """

    def __init__(self, probability: float):
        super().__init__()
        self.probability = probability

    def forward(self, inputs: Float[Tensor, "batch time size"]) -> Float[Tensor, "batch time size"]:
        if not self.training or self.probability == 0:
            return inputs
        kept = 1 - self.probability
        # One row a sentence, broadcast over time. Drawn as uniform numbers in float32: on the CPU
        # three times as fast as drawing the mask itself.
        drawn = torch.rand(inputs.shape[0], 1, inputs.shape[2], device=inputs.device)
        return inputs * ((drawn < kept).to(inputs.dtype) / kept)
