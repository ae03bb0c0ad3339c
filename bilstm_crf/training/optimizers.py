"""The optimizer of a whole network: its settings, and one step of all weights together."""

from typing import Annotated, Any, Literal

import torch
from pydantic import Field, Tag
from torch import Tensor, nn

from bilstm_crf.section import Section, chosen_by_type
from bilstm_crf.training.dense_optimizers import DenseAdamW, DenseOptimizer, DenseSGD
from bilstm_crf.training.row_optimizers import RowAdam, RowGradients, RowOptimizer, RowSGD

Share = Annotated[float, Field(ge=0, lt=1)]


class AdamWSection(Section):
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019); adam is decay 0."""

    type: Literal["adamw"] = "adamw"
    learning_rate: float = Field(default=0.004, gt=0, le=100)
    """Step size before the schedule's factor."""

    betas: tuple[Share, Share] = (0.9, 0.999)
    """Decay of the running means of the gradient and of its square."""

    weight_decay: float = Field(default=0.01, ge=0, le=1)
    """Share of a dense weight taken off at each step, times the learning rate."""

    def build_dense(self, weights: list[nn.Parameter]) -> DenseOptimizer:
        return DenseAdamW(weights, self.betas, self.weight_decay)

    def build_rows(self, weight: nn.Parameter) -> RowOptimizer:
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

    def build_dense(self, weights: list[nn.Parameter]) -> DenseOptimizer:
        return DenseSGD(weights, self.momentum, self.weight_decay)

    def build_rows(self, weight: nn.Parameter) -> RowOptimizer:
        return RowSGD(weight, self.momentum)


OptimizerSection = Annotated[
    Annotated[AdamWSection, Tag("adamw")]
    | Annotated[AdamSection, Tag("adam")]
    | Annotated[SGDSection, Tag("sgd")],
    *chosen_by_type("adamw"),
]


class Optimizer:
    """All weights of a network: dense ones together, tables by rows.

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
        for weight in [*self.dense_weights, *self.tables]:
            weight.grad = None

    def step(self, factor: float) -> None:
        """Make one step with ``factor`` times the learning rate."""
        rate = self.learning_rate * factor
        tables = [
            None if (gradient := table.grad) is None else RowGradients.of(gradient)
            for table in self.tables
        ]
        divisor = None if self._clip is None else self._excess(self._clip, tables)
        self._dense.step(rate, divisor)
        for rows, gradients in zip(self._rows, tables, strict=True):
            rows.step(rate, gradients, divisor)

    @property
    def tables(self) -> list[nn.Parameter]:
        """The tables whose gradients are sparse."""
        return [rows.weight for rows in self._rows]

    def dense_gradients(self) -> list[Tensor]:
        """Return the gradients of the dense weights, in a fixed order."""
        return [p.grad for p in self.dense_weights if p.grad is not None]

    def _excess(self, largest: float, tables: list[RowGradients | None]) -> Tensor | None:
        """Return how many times too large the gradient is; None if it is surely not."""
        sums = [gradients.sums for gradients in tables if gradients is not None]
        gradients = [*self.dense_gradients(), *sums]
        norm: Tensor = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
        if norm.device.type == "cpu" and float(norm) <= largest:
            return None
        # On other devices nobody waits to know.
        return (norm / largest).clamp(min=1.0)

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
