"""Optimizers of large tables: they update only the rows that a batch touched.

A batch touches a few hundred rows of a word table of many thousands: a dense step over the whole
table would cost more than the LSTM.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn


@dataclass(frozen=True)
class RowGradients:
    """The gradient of a table's rows, summed where a row was used several times.

    A row may still stand here several times, each time with its whole sum: how many distinct
    rows there are is nobody's business, and on a GPU would have to be waited for.

    Attributes:
        rows: the rows, in order.
        sums: the sum of each distinct row, then zeros.
        sum_of_row: which of the sums is that of each row.
    """

    rows: Int64[Tensor, "n"]
    sums: Float[Tensor, "n size"]
    sum_of_row: Int64[Tensor, "n"]

    @classmethod
    def of(cls, gradient: Tensor) -> "RowGradients":
        """Take a sparse gradient apart."""
        rows, order = gradient._indices()[0].sort()
        is_new = torch.ones_like(rows)
        is_new[1:] = rows[1:] != rows[:-1]
        number = is_new.cumsum(0) - 1
        values = gradient._values().index_select(0, order)
        return cls(rows, torch.zeros_like(values).index_add_(0, number, values), number)


class RowOptimizer(ABC):
    """Updates only the rows of a table that have a gradient.

    Args:
        weight: (rows, size) the table; its gradient is sparse.
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

    def step(
        self, rate: float, gradients: RowGradients | None, divisor: Tensor | None = None
    ) -> None:
        """Make a step.

        Args:
            rate: the learning rate.
            gradients: those of the touched rows, if there are any.
            divisor: number by which they are divided first, on the table's device.
        """
        self.steps += 1
        if gradients is None:
            return
        rows, sums = gradients.rows, gradients.sums
        with torch.no_grad():
            if divisor is not None:
                sums = sums / divisor
            means = self.means.index_select(0, rows)
            step = self.advance(means, sums.index_select(0, gradients.sum_of_row), rate)
            # A row that stands here twice is written twice, with the same numbers.
            self.means.index_copy_(0, rows, means)
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
