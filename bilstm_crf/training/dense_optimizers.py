"""Optimizers of the weights that every batch touches: one fused kernel a step.

They are the kernels of ``torch.optim``, called directly: torch's classes import its compiler when
first used, which takes a second and 75 MB.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn


class DenseOptimizer(ABC):
    """Updates the weights that have a gradient.

    Args:
        weights: in float32, all on one device.
        num_means: running means kept for each weight.
    """

    def __init__(self, weights: Sequence[nn.Parameter], num_means: int):
        self.weights = [weight for weight in weights if weight.numel()]
        self.means = [[torch.zeros_like(w) for w in self.weights] for _ in range(num_means)]
        self.steps = torch.zeros((), device=self.weights[0].device if self.weights else None)

    @abstractmethod
    def update(
        self,
        weights: list[Tensor],
        gradients: list[Tensor],
        means: list[list[Tensor]],
        rate: float,
        divisor: Tensor | None,
    ) -> None:
        """Move weights by their gradients, divided by ``divisor`` first."""

    def step(self, rate: float, divisor: Tensor | None = None) -> None:
        """Make a step.

        Args:
            rate: the learning rate.
            divisor: number by which all gradients are divided first, on the weights' device.
        """
        with torch.no_grad():
            self.steps += 1
            moved = [i for i, weight in enumerate(self.weights) if weight.grad is not None]
            if moved:
                self.update(
                    [self.weights[i] for i in moved],
                    [gradient for w in self.weights if (gradient := w.grad) is not None],
                    [[kind[i] for i in moved] for kind in self.means],
                    rate,
                    divisor,
                )

    def state_dict(self) -> dict[str, Any]:
        return {"steps": self.steps, "means": self.means}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.steps.copy_(state["steps"])
        for kind, saved_kind in zip(self.means, state["means"], strict=True):
            for mean, saved in zip(kind, saved_kind, strict=True):
                mean.copy_(saved)


class DenseAdamW(DenseOptimizer):
    """Adam with decoupled weight decay; plain Adam with a decay of 0."""

    def __init__(
        self, weights: Sequence[nn.Parameter], betas: tuple[float, float], weight_decay: float
    ):
        super().__init__(weights, 2)
        self.betas, self.weight_decay = betas, weight_decay

    def update(
        self,
        weights: list[Tensor],
        gradients: list[Tensor],
        means: list[list[Tensor]],
        rate: float,
        divisor: Tensor | None,
    ) -> None:
        mean, square = means
        torch._fused_adamw_(
            weights,
            gradients,
            mean,
            square,
            [],
            [self.steps] * len(weights),
            lr=rate,
            beta1=self.betas[0],
            beta2=self.betas[1],
            weight_decay=self.weight_decay,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
            grad_scale=divisor,
            found_inf=None,
        )


class DenseSGD(DenseOptimizer):
    """Stochastic gradient descent with momentum and an L2 penalty."""

    def __init__(self, weights: Sequence[nn.Parameter], momentum: float, weight_decay: float):
        super().__init__(weights, 1 if momentum else 0)
        self.momentum, self.weight_decay = momentum, weight_decay

    def update(
        self,
        weights: list[Tensor],
        gradients: list[Tensor],
        means: list[list[Tensor]],
        rate: float,
        divisor: Tensor | None,
    ) -> None:
        torch._fused_sgd_(
            weights,
            gradients,
            means[0] if self.momentum else [],
            lr=rate,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
            dampening=0.0,
            nesterov=False,
            maximize=False,
            is_first_step=False,
            grad_scale=divisor,
            found_inf=None,
        )
