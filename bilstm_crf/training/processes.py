"""Several processes training one model: who am I, and what do we share at each step.

Started by ``torchrun``, which sets RANK and WORLD_SIZE; without it there is one process and
nothing to do. Each process works on its share of every batch; gradients are summed, so that the
steps are those of one process with the whole batch.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from bilstm_crf.errors import RunError
from bilstm_crf.training.optimizers import Optimizer


class Processes:
    """The group of processes of a run, often just this one.

    Attributes:
        rank: number of this process, from 0; rank 0 writes the files.
        count: number of processes.
    """

    def __init__(self) -> None:
        self.rank = int(os.environ.get("RANK", "0"))
        self.count = int(os.environ.get("WORLD_SIZE", "1"))

    @property
    def local_rank(self) -> int:
        """Number of this process on its machine, which chooses its GPU."""
        return int(os.environ.get("LOCAL_RANK", "0"))

    def start(self, device: torch.device) -> None:
        """Join the group: over gloo on the CPU, over NCCL on GPUs."""
        if self.count > 1 and not dist.is_initialized():
            with _others_alive():
                dist.init_process_group("nccl" if device.type == "cuda" else "gloo")

    def stop(self) -> None:
        if self.count > 1 and dist.is_initialized():
            dist.destroy_process_group()

    def share_weights(self, network: nn.Module) -> None:
        """Give every process the weights of rank 0."""
        if self.count > 1:
            with _others_alive():
                for tensor in [*network.parameters(), *network.buffers()]:
                    dist.broadcast(tensor.data, 0)

    def sum_gradients(self, optimizer: Optimizer, numbers: Tensor) -> Tensor:
        """Sum all gradients, and a few numbers with them, over the processes.

        Args:
            optimizer: holds the gradients, which are replaced by their sums.
            numbers: (n,) float tensor, such as the loss.

        Returns:
            The (n,) sums of ``numbers``.
        """
        if self.count == 1:
            return numbers
        dense = optimizer.dense_weights
        for weight in dense:  # a process without sentences in this batch has no gradients
            if weight.grad is None:
                weight.grad = torch.zeros_like(weight)
        gradients = optimizer.dense_gradients()
        flat = torch.cat([numbers.float(), *(g.flatten() for g in gradients)])
        with _others_alive():
            dist.all_reduce(flat)
            for table in optimizer.tables:
                table.grad = self._sum_rows(table)
        parts = torch.split(flat[len(numbers) :], [g.numel() for g in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))
        return flat[: len(numbers)]

    def _sum_rows(self, table: nn.Parameter) -> Tensor:
        """Sum a table's sparse gradient by exchanging the touched rows."""
        if table.grad is None:
            rows = torch.zeros(0, dtype=torch.int64, device=table.device)
            values = torch.zeros(0, table.shape[1], device=table.device)
        else:
            gradient = table.grad.coalesce()
            rows, values = gradient.indices()[0], gradient.values()
        counts = [torch.zeros(1, dtype=torch.int64, device=table.device) for _ in range(self.count)]
        dist.all_gather(counts, torch.tensor([len(rows)], device=table.device))
        sent = [int(count) for count in counts]
        most = max(sent)
        rows = torch.nn.functional.pad(rows, (0, most - len(rows)))
        values = torch.nn.functional.pad(values, (0, 0, 0, most - len(values)))
        all_rows = [torch.empty_like(rows) for _ in range(self.count)]
        all_values = [torch.empty_like(values) for _ in range(self.count)]
        dist.all_gather(all_rows, rows)
        dist.all_gather(all_values, values)
        # What was filled up is cut off again: a row of gradient 0 still moves by its momentum.
        touched = torch.cat([r[:n] for r, n in zip(all_rows, sent, strict=True)])
        summands = torch.cat([v[:n] for v, n in zip(all_values, sent, strict=True)])
        return torch.sparse_coo_tensor(
            touched[None], summands, table.shape, check_invariants=False
        ).coalesce()

    def broadcast_object(self, value: Any) -> Any:
        """Return rank 0's plain value in every process."""
        if self.count == 1:
            return value
        box = [value]
        with _others_alive():
            dist.broadcast_object_list(box, 0)
        return box[0]

    def gather_object(self, value: Any) -> list[Any]:
        """Return the plain values of all processes by rank; an empty list but at rank 0."""
        if self.count == 1:
            return [value]
        box = [None] * self.count if self.rank == 0 else None
        with _others_alive():
            dist.gather_object(value, box)
        return box or []


@contextmanager
def _others_alive() -> Iterator[None]:
    """Turn the failure of an exchange into an error that says what happened."""
    try:
        yield
    except RuntimeError as error:
        reason = str(error).partition("\n")[0][:200]
        raise RunError(
            f"another process of this run has stopped; see its message ({reason})"
        ) from None
