"""Optimizers: torch's own for the dense weights, a row-wise twin for the large tables.

A batch touches a few hundred rows of a word table of many thousands. The twin updates those rows
alone: a dense Adam step over the whole table would cost more than the LSTM.
"""

from abc import ABC, abstractmethod
from typing import Annotated, Any, Literal

import torch
from pydantic import Field, Tag
from torch import Tensor, nn

from bilstm_crf.section import Section, chosen_by_type


class AdamWSection(Section):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019); adam is decay 0."""

    type: Literal["adamw"] = "adamw"
    learning_rate: float = Field(default=0.004, gt=0, le=100)
    """Step size before the schedule's factor."""

    betas: tuple[float, float] = (0.9, 0.999)
    """Decay of the running means of the gradient and of its square."""

    weight_decay: float = Field(default=0.01, ge=0, le=1)
    """Share of a dense weight taken off at each step, times the learning rate."""

    def build_dense(self, weights: list[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.AdamW(
            weights,
            lr=self.learning_rate,
            betas=self.betas,
            weight_decay=self.weight_decay,
            fused=True,
        )

    def build_rows(self, weight: nn.Parameter) -> "RowOptimizer":
        return RowAdam(weight, self.betas)


class AdamSection(AdamWSection):
    """Adam (Kingma and Ba 2015)."""

    type: Literal["adam"] = "adam"  # type: ignore[assignment]
    weight_decay: float = Field(default=0.0, ge=0, le=0)
    """Always 0; `adamw` decays weights."""


class SGDSection(Section):
    """Stochastic gradient descent with momentum."""

    type: Literal["sgd"] = "sgd"
    learning_rate: float = Field(default=0.1, gt=0, le=1000)
    """Step size before the schedule's factor."""

    momentum: float = Field(default=0.9, ge=0, lt=1)
    """Share of the last step that is repeated."""

    weight_decay: float = Field(default=0.0, ge=0, le=1)
    """L2 penalty on dense weights."""

    def build_dense(self, weights: list[nn.Parameter]) -> torch.optim.Optimizer:
        return torch.optim.SGD(
            weights,
            lr=self.learning_rate,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
            fused=True,
        )

    def build_rows(self, weight: nn.Parameter) -> "RowOptimizer":
        return RowSGD(weight, self.momentum)


OptimizerSection = Annotated[
    Annotated[AdamWSection, Tag("adamw")]
    | Annotated[AdamSection, Tag("adam")]
    | Annotated[SGDSection, Tag("sgd")],
    *chosen_by_type("adamw"),
]


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

    def step(self, rate: float) -> None:
        self.steps += 1
        gradient = self.weight.grad
        if gradient is None:
            return
        rows = gradient.indices()[0]
        with torch.no_grad():
            means = self.means.index_select(0, rows)
            step = self.advance(means, gradient.values(), rate)
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


class Optimizer:
    """All weights of a network: dense ones by torch, tables by rows.

    Args:
        section: which method and its settings.
        network: its trainable parameters are taken.
        clip: largest norm of the whole gradient, or None.
    """

    def __init__(self, section: OptimizerSection, network: nn.Module, *, clip: float | None):
        tables = set(sparse_tables(network))
        dense = [p for p in network.parameters() if p.requires_grad and p not in tables]
        self.learning_rate, self._clip = section.learning_rate, clip
        self.dense_weights = dense
        self._dense = section.build_dense(dense)
        self._rows = [section.build_rows(table) for table in sparse_tables(network)]

    def zero_grad(self) -> None:
        self._dense.zero_grad(set_to_none=True)
        for rows in self._rows:
            rows.weight.grad = None

    def step(self, factor: float) -> None:
        """Make one step with ``factor`` times the learning rate."""
        rate = self.learning_rate * factor
        for rows in self._rows:
            if rows.weight.grad is not None:
                rows.weight.grad = rows.weight.grad.coalesce()
        if self._clip is not None:
            self._clip_gradient(self._clip)
        for group in self._dense.param_groups:
            group["lr"] = rate
        self._dense.step()
        for rows in self._rows:
            rows.step(rate)

    @property
    def tables(self) -> list[nn.Parameter]:
        """The tables whose gradients are sparse."""
        return [rows.weight for rows in self._rows]

    def dense_gradients(self) -> list[Tensor]:
        """Return the gradients of the dense weights, in a fixed order."""
        return [p.grad for p in self.dense_weights if p.grad is not None]

    def _clip_gradient(self, largest: float) -> None:
        rows = [table.grad.values() for table in self.tables if table.grad is not None]
        gradients = [*self.dense_gradients(), *rows]
        norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
        # On the device, without asking for the norm's value.
        torch._foreach_mul_(gradients, (largest / (norm + 1e-6)).clamp(max=1.0))

    def state_dict(self) -> dict[str, Any]:
        return {
            "dense": self._dense.state_dict(),
            "rows": [rows.state_dict() for rows in self._rows],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._dense.load_state_dict(state["dense"])
        for rows, saved in zip(self._rows, state["rows"], strict=True):
            rows.load_state_dict(saved)


def sparse_tables(network: nn.Module) -> list[nn.Parameter]:
    """Return the trainable tables whose gradients are sparse, as their modules declare."""
    tables = [getattr(module, "sparse_weight", None) for module in network.modules()]
    return [table for table in tables if isinstance(table, nn.Parameter)]
