"""Row-wise optimizers against torch's own, which update whole tables."""

import copy
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from bilstm_crf.training.optimizers import (
    AdamSection,
    AdamWSection,
    Optimizer,
    OptimizerSection,
    SGDSection,
)
from bilstm_crf.training.row_optimizers import RowAdam, RowGradients, RowSGD

SECTIONS: list[OptimizerSection] = [
    AdamWSection(learning_rate=0.01, weight_decay=0.1),
    AdamSection(learning_rate=0.01),
    SGDSection(learning_rate=0.1, momentum=0.8),
    SGDSection(learning_rate=0.1, momentum=0.0),
]


class LookUp(nn.Module):
    """A table with sparse gradients and a dense layer behind it."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(6, 3))
        self.linear = nn.Linear(3, 2)
        self.sparse = True

    @property
    def sparse_weight(self) -> nn.Parameter | None:
        return self.weight if self.sparse else None

    def forward(self, rows: Tensor) -> Tensor:
        vectors = nn.functional.embedding(rows, self.weight, sparse=self.sparse)
        return self.linear(vectors).square().sum()


def sparse_gradient(rows: list[int], size: int = 3, table_rows: int = 6) -> Tensor:
    values = torch.randn(len(rows), size)
    indices, shape = torch.tensor([rows]), (table_rows, size)
    return torch.sparse_coo_tensor(indices, values, shape, check_invariants=True)


def test_adam_of_rows_equals_sparse_adam() -> None:
    ours = nn.Parameter(torch.randn(6, 3))
    theirs = nn.Parameter(ours.detach().clone())
    rows, adam = RowAdam(ours, (0.8, 0.95)), torch.optim.SparseAdam([theirs], 0.1, (0.8, 0.95))
    for touched in ([0, 2], [2, 5, 2], [1], [5, 4, 3, 2, 1, 0, 5], [2]):
        ours.grad = sparse_gradient(touched)
        theirs.grad = ours.grad.clone()
        rows.step(0.1, RowGradients.of(ours.grad))
        adam.step()
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("momentum", [0.0, 0.7])
def test_sgd_of_rows_equals_sgd_if_all_rows_move(momentum: float) -> None:
    ours = nn.Parameter(torch.randn(6, 3))
    theirs = nn.Parameter(ours.detach().clone())
    rows, sgd = RowSGD(ours, momentum), torch.optim.SGD([theirs], 0.1, momentum)
    for _ in range(4):
        ours.grad = sparse_gradient(list(range(6)))
        theirs.grad = ours.grad.to_dense()
        rows.step(0.1, RowGradients.of(ours.grad))
        sgd.step()
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.type)
def test_rows_without_gradient_stand_still(section: OptimizerSection) -> None:
    network = LookUp()
    optimizer = Optimizer(section, network, clip=None)
    before = network.weight.detach().clone()
    for _ in range(2):
        optimizer.zero_grad()
        network(torch.tensor([1, 4])).backward()
        optimizer.step(1.0)
    moved = (network.weight != before).any(1)
    assert moved.tolist() == [False, True, False, False, True, False]


def torch_twin(section: OptimizerSection, weights: list[nn.Parameter], decay: float) -> Any:
    """Return torch's optimizer of the same kind."""
    rate = section.learning_rate
    if isinstance(section, SGDSection):
        return torch.optim.SGD(weights, rate, section.momentum, weight_decay=decay)
    return torch.optim.AdamW(weights, rate, section.betas, weight_decay=decay)


@pytest.mark.parametrize("clip", [None, 0.5, 1e6])
@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.type)
def test_equals_torch_on_a_dense_twin_if_all_rows_move(
    section: OptimizerSection, clip: float | None
) -> None:
    torch.manual_seed(2)
    network = LookUp()
    twin = copy.deepcopy(network)
    twin.sparse = False
    optimizer = Optimizer(section, network, clip=clip)
    dense = torch_twin(section, list(twin.linear.parameters()), section.weight_decay)
    table = torch_twin(section, [twin.weight], decay=0.0)
    for factor in (1.0, 0.5, 0.25):
        rows = torch.cat([torch.arange(6), torch.randint(6, (4,))])  # some of them twice
        optimizer.zero_grad()
        twin.zero_grad()
        network(rows).backward()
        twin(rows).backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(twin.parameters(), clip)
        for theirs in (dense, table):
            theirs.param_groups[0]["lr"] = section.learning_rate * factor
            theirs.step()
        optimizer.step(factor)
        for mine, expected in zip(network.parameters(), twin.parameters(), strict=True):
            torch.testing.assert_close(mine, expected)


def test_torch_leaves_its_compiler_where_it_is() -> None:
    code = """
import sys
import torch
from bilstm_crf.training.optimizers import AdamWSection, Optimizer
network = torch.nn.Linear(2, 2)
optimizer = Optimizer(AdamWSection(), network, clip=1.0)
network(torch.ones(1, 2)).sum().backward()
optimizer.step(1.0)
print("torch._dynamo" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.type)
def test_goes_on_from_its_saved_state(section: OptimizerSection) -> None:
    first = LookUp()
    optimizer = Optimizer(section, first, clip=1.0)

    def step(network: LookUp, optimizer: Optimizer, rows: list[int]) -> None:
        optimizer.zero_grad()
        network(torch.tensor(rows)).backward()
        optimizer.step(1.0)

    step(first, optimizer, [0, 3])
    second = copy.deepcopy(first)
    resumed = Optimizer(section, second, clip=1.0)
    resumed.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for rows in ([3, 4], [0]):
        step(first, optimizer, rows)
        step(second, resumed, rows)
    for mine, expected in zip(second.parameters(), first.parameters(), strict=True):
        assert torch.equal(mine, expected)
