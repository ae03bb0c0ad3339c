"""The mean of table rows, brought up to date only when needed, against a plain running mean."""

import copy

import torch
from torch import Tensor, nn

from bilstm_crf.training.averaging import WeightAverage


class TableAndBias(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.sparse_weight = nn.Parameter(torch.randn(5, 2, dtype=torch.float64))
        self.bias = nn.Parameter(torch.randn(3, dtype=torch.float64))
        self.fixed = nn.Parameter(torch.randn(3), requires_grad=False)


def plain_mean(history: list[Tensor], decay: float) -> Tensor:
    """Average all weights from the first on, one after the other."""
    mean = history[0]
    for step, weight in enumerate(history[1:], 1):
        kept = min(decay, (1 + step) / (10 + step))
        mean = kept * mean + (1 - kept) * weight
    return mean


def move(network: TableAndBias, rows: list[int]) -> None:
    """Change some rows and the bias as an optimizer would."""
    with torch.no_grad():
        network.sparse_weight[rows] += torch.randn(len(rows), 2, dtype=torch.float64)
        network.bias += torch.randn(3, dtype=torch.float64)


def give_gradient(network: TableAndBias, rows: list[int]) -> None:
    values = torch.ones(len(rows), 2, dtype=torch.float64)
    indices = torch.tensor([rows])
    gradient = torch.sparse_coo_tensor(indices, values, (5, 2), check_invariants=True)
    network.sparse_weight.grad = gradient


STEPS = [[0, 1], [1], [4, 4, 0], [2], [1, 2], [0]] * 5


def test_equals_a_plain_running_mean_of_all_weights() -> None:
    torch.manual_seed(4)
    network = TableAndBias()
    average = WeightAverage(network, 0.7)
    tables, biases = [network.sparse_weight.detach().clone()], [network.bias.detach().clone()]
    for number, rows in enumerate(STEPS):
        give_gradient(network, rows)
        average.before_step()
        move(network, sorted(set(rows)))
        average.after_step()
        tables.append(network.sparse_weight.detach().clone())
        biases.append(network.bias.detach().clone())
        if number % 7 == 0:  # reading in between changes nothing
            with average.in_place():
                torch.testing.assert_close(network.sparse_weight, plain_mean(tables, 0.7))
                torch.testing.assert_close(network.bias, plain_mean(biases, 0.7))
            assert torch.equal(network.sparse_weight, tables[-1])
            assert torch.equal(network.bias, biases[-1])
    with average.in_place():
        torch.testing.assert_close(network.sparse_weight, plain_mean(tables, 0.7))


def test_weights_come_back_after_an_error() -> None:
    network = TableAndBias()
    average = WeightAverage(network, 0.7)
    before = network.bias.detach().clone()
    move(network, [1])
    average.after_step()
    now = network.bias.detach().clone()
    try:
        with average.in_place():
            assert not torch.equal(network.bias, now)
            raise KeyError
    except KeyError:
        pass
    assert torch.equal(network.bias, now)
    assert not torch.equal(before, now)


def test_goes_on_from_its_saved_state() -> None:
    torch.manual_seed(5)
    network = TableAndBias()
    average = WeightAverage(network, 0.9)
    for rows in STEPS[:4]:
        give_gradient(network, rows)
        average.before_step()
        move(network, sorted(set(rows)))
        average.after_step()
    twin = copy.deepcopy(network)
    resumed = WeightAverage(twin, 0.9)
    resumed.load_state_dict(copy.deepcopy(average.state_dict()))
    with average.in_place(), resumed.in_place():
        assert torch.equal(network.sparse_weight, twin.sparse_weight)
        assert torch.equal(network.bias, twin.bias)
