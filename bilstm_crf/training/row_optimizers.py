"""Optimizers of large tables: they update only the rows that a batch touched.

A batch touches a few hundred rows of a word table of many thousands: a dense step over the whole
table would cost more than the LSTM.
"""

from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn


class RowOptimizer(ABC):
    """Updates only the rows of a table that have a gradient.

    Args:
        weight: (rows, size) the table; its gradient is sparse and coalesced.
        num_means: running means kept for each weight.
    """

    def __init__(self, weight: nn.Parameter, num_means: int):
        self.weight = weight
        # Those of a row side by side: rows lie far apart, and each must be fetched and put back.
        self.means = weight.new_zeros(len(weight), num_means, weight.shape[1])
        self.steps = 0

    @abstractmethod
    def advance(self, means: Tensor, gradient: Tensor, rate: float) -> Tensor:
        """Renew the (n, num_means, size) means of n rows in place; return their (n, size) step."""

    def step(self, rate: float, divisor: Tensor | None = None) -> None:
        """Make a step.

        Args:
            rate: the learning rate.
            divisor: number by which the gradient is divided first, on the table's device.
        """
        self.steps += 1
        gradient = self.weight.grad
        if gradient is None:
            return
        rows, values = gradient.indices()[0], gradient.values()
        with torch.no_grad():
            if divisor is not None:
                values = values / divisor
            means = self.means.index_select(0, rows)
            step = self.advance(means, values, rate)
            self.means.index_copy_(0, rows, means)
            # Faster than index_add_, since the rows are distinct.
            self.weight.index_copy_(0, rows, self.weight.index_select(0, rows).sub_(step))

    def state_dict(self) -> dict[str, Any]:
        return {"steps": self.steps, "means": self.means}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.steps = state["steps"]
        self.means.copy_(state["means"])


class RowAdam(RowOptimizer):
    """Adam on the touched rows; means of untouched rows stand still, as in torch's SparseAdam."""

    def __init__(self, weight: nn.Parameter, betas: tuple[float, float]):
        super().__init__(weight, 2)
        self.betas = betas

    def advance(self, means: Tensor, gradient: Tensor, rate: float) -> Tensor:
        (beta1, beta2), (mean, square) = self.betas, means.unbind(1)
        mean.lerp_(gradient, 1 - beta1)
        square.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        size = rate * (1 - beta2**self.steps) ** 0.5 / (1 - beta1**self.steps)
        return torch.div(mean, square.sqrt().add_(1e-8)).mul_(size)


class RowSGD(RowOptimizer):
    """SGD with momentum on the touched rows."""

    def __init__(self, weight: nn.Parameter, momentum: float):
        super().__init__(weight, 1 if momentum else 0)
        self.momentum = momentum

    def advance(self, means: Tensor, gradient: Tensor, rate: float) -> Tensor:
        if not self.momentum:
            return gradient * rate
        return means[:, 0].mul_(self.momentum).add_(gradient) * rate
