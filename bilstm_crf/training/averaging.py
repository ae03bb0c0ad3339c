"""A running mean of the weights over the steps: smoother than the last step, at little cost.

Polyak and Juditsky 1992; in the exponential form of Tarvainen and Valpola 2017, equation 2,
https://arxiv.org/abs/1703.01780. Table rows change only when a batch touches them, so their mean is
brought up to date when that happens or when it is read: the same numbers, without a pass over
the table at each step.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from bilstm_crf.training.optimizers import sparse_tables


class WeightAverage:
    """Exponential running mean of all trainable weights.

    Args:
        network: its trainable weights are averaged.
        decay: share of the old mean that is kept at each step; early on a smaller one,
            (1 + steps) / (10 + steps), so that the first weights are soon forgotten.
    """

    def __init__(self, network: nn.Module, decay: float):
        tables = sparse_tables(network)
        known = set(tables)
        self._decay, self._steps = decay, 0
        self._dense: list[Tensor] = [
            p for p in network.parameters() if p.requires_grad and p not in known
        ]
        self._tables: list[nn.Parameter] = tables
        self._dense_means = [p.detach().clone() for p in self._dense]
        self._table_means = [t.detach().clone() for t in tables]
        # Logarithm of the product of all decays so far, and as it was when a row was last read.
        self._log_decay = 0.0
        self._row_log_decay = [
            torch.zeros(len(t), dtype=torch.float64, device=t.device) for t in tables
        ]

    def before_step(self) -> None:
        """Bring the means of the rows about to change up to date with their old values."""
        for number, table in enumerate(self._tables):
            if table.grad is not None:
                self._catch_up(number, table.grad._indices()[0])

    def after_step(self) -> None:
        """Take the new weights into the means."""
        self._steps += 1
        decay = min(self._decay, (1 + self._steps) / (10 + self._steps))
        self._log_decay += math.log(decay)
        with torch.no_grad():
            torch._foreach_lerp_(self._dense_means, self._dense, 1 - decay)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Put the means in the network's place; afterwards the weights are back."""
        for number, table in enumerate(self._tables):
            self._catch_up(number, torch.arange(len(table), device=table.device))
        weights: list[Tensor] = [*self._dense, *self._tables]
        means = [*self._dense_means, *self._table_means]
        kept = [w.detach().clone() for w in weights]
        with torch.no_grad():
            torch._foreach_copy_(weights, means)
        try:
            yield
        finally:
            with torch.no_grad():
                torch._foreach_copy_(weights, kept)

    def _catch_up(self, number: int, rows: Tensor) -> None:
        if not len(rows):
            return
        table, mean = self._tables[number], self._table_means[number]
        since = self._row_log_decay[number]
        with torch.no_grad():
            kept = (self._log_decay - since.index_select(0, rows)).exp().to(mean.dtype)[:, None]
            old, now = mean.index_select(0, rows), table.index_select(0, rows)
            mean.index_copy_(0, rows, torch.lerp(now, old, kept))
            since.index_fill_(0, rows, self._log_decay)

    def state_dict(self) -> dict[str, Any]:
        return {
            "steps": self._steps,
            "log_decay": self._log_decay,
            "dense": self._dense_means,
            "tables": self._table_means,
            "rows": self._row_log_decay,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._steps, self._log_decay = state["steps"], state["log_decay"]
        mine = [*self._dense_means, *self._table_means, *self._row_log_decay]
        saved = [*state["dense"], *state["tables"], *state["rows"]]
        for mean, value in zip(mine, saved, strict=True):
            mean.copy_(value)
