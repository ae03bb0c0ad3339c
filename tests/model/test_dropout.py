"""Locked dropout: one mask for a whole sentence, the mean kept."""

import pytest
import torch

from bilstm_crf.model.dropout import LockedDropout


@pytest.mark.parametrize("probability", [0.2, 0.5, 0.8])
def test_the_same_units_are_zero_at_every_step(probability: float) -> None:
    torch.manual_seed(1)
    outputs = LockedDropout(probability)(torch.ones(40, 7, 500))
    kept = outputs[:, 0] > 0  # (batch, size)
    assert torch.equal(outputs, (kept[:, None] / (1 - probability)).expand_as(outputs))
    # Four standard errors of the share of 20,000 units.
    error = 4 * (probability * (1 - probability) / 20_000) ** 0.5
    assert abs(1 - kept.float().mean() - probability) < error
    assert not torch.equal(kept[0], kept[1])


def test_nothing_happens_outside_training_or_without_a_share() -> None:
    inputs = torch.randn(2, 3, 4)
    assert LockedDropout(0.5).eval()(inputs) is inputs
    assert LockedDropout(0.0)(inputs) is inputs


def test_keeps_type_and_layout() -> None:
    inputs = torch.ones(3, 2, 4, dtype=torch.bfloat16).transpose(0, 1)
    outputs = LockedDropout(0.5)(inputs)
    assert outputs.dtype == torch.bfloat16
    assert outputs.stride() == inputs.stride()


def test_the_gradient_passes_where_the_input_passed() -> None:
    inputs = torch.ones(2, 3, 4, requires_grad=True)
    outputs = LockedDropout(0.5)(inputs)
    outputs.sum().backward()
    assert inputs.grad is not None
    assert torch.equal(inputs.grad, outputs.detach())
