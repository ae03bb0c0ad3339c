"""The BiLSTM against torch's own two-way LSTM over packed sequences."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from bilstm_crf.model.recurrent import BiLSTM, reversal_index, reverse_within_length


def packed_twin(lstm: BiLSTM, input_size: int) -> nn.LSTM:
    """Return a bidirectional nn.LSTM with the same weights."""
    layers, hidden = len(lstm.forward_layers), lstm.output_size // 2
    twin = nn.LSTM(input_size, hidden, layers, bidirectional=True, batch_first=True)
    state = {}
    for side, ending in ((lstm.forward_layers, ""), (lstm.backward_layers, "_reverse")):
        for depth, layer in enumerate(side):
            for name, weight in layer.state_dict().items():
                state[f"{name.removesuffix('0')}{depth}{ending}"] = weight
    twin.load_state_dict(state)
    return twin


def mask_of(lengths: Tensor, time: int) -> Tensor:
    return (torch.arange(time) < lengths[:, None])[:, :, None]


@pytest.mark.parametrize("layers", [1, 2])
@given(lengths=st.lists(st.integers(1, 9), min_size=1, max_size=5))
@settings(max_examples=20, deadline=None)
def test_equals_packed_bidirectional_lstm(layers: int, lengths: list[int]) -> None:
    torch.manual_seed(3)
    lstm, time = BiLSTM(4, 3, layers, dropout=0.0), max(lengths)
    twin = packed_twin(lstm, 4)
    counts = torch.tensor(lengths)
    ours = torch.randn(len(lengths), time, 4, requires_grad=True)
    theirs = ours.detach().clone().requires_grad_()

    outputs = lstm(ours, counts)
    packed = pack_padded_sequence(theirs, counts, batch_first=True, enforce_sorted=False)
    expected, _ = pad_packed_sequence(twin(packed)[0], batch_first=True)
    mask = mask_of(counts, time)
    torch.testing.assert_close(outputs * mask, expected * mask)

    gradient = torch.randn_like(expected) * mask
    outputs.backward(gradient)
    expected.backward(gradient)
    torch.testing.assert_close(ours.grad, theirs.grad)
    torch.testing.assert_close(
        lstm.backward_layers[0].weight_hh_l0.grad, twin.weight_hh_l0_reverse.grad
    )


def test_what_stands_in_the_padding_changes_nothing() -> None:
    lstm, lengths = BiLSTM(4, 3, 2, dropout=0.0), torch.tensor([5, 2])
    inputs = torch.randn(2, 5, 4)
    other = inputs.clone()
    other[1, 2:] = 100.0
    torch.testing.assert_close(lstm(inputs, lengths)[1, :2], lstm(other, lengths)[1, :2])


def test_reversal_is_its_own_inverse_and_leaves_the_padding() -> None:
    inputs, lengths = torch.randn(3, 6, 2), torch.tensor([6, 1, 4])
    reversed_once = reverse_within_length(inputs, lengths)
    assert reversed_once[2, :4].tolist() == inputs[2, :4].flip(0).tolist()
    assert reversed_once[2, 4:].tolist() == inputs[2, 4:].tolist()
    assert reverse_within_length(reversed_once, lengths).tolist() == inputs.tolist()
    assert reversal_index(lengths, 6)[2].tolist() == [3, 2, 1, 0, 4, 5]


def test_gradient_of_the_reversal() -> None:
    inputs = torch.randn(3, 4, 2, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([4, 2, 3])
    assert torch.autograd.gradcheck(lambda x: reverse_within_length(x, lengths), inputs)


def test_forget_gates_start_open() -> None:
    lstm = BiLSTM(4, 3, 1, dropout=0.0)
    for layer in (*lstm.forward_layers, *lstm.backward_layers):
        assert (layer.bias_ih_l0 + layer.bias_hh_l0).tolist() == [0] * 3 + [1] * 3 + [0] * 6


def test_parameter_names_are_those_of_published_models() -> None:
    names = [name for name, _ in BiLSTM(4, 3, 2, dropout=0.0).named_parameters()]
    assert names[0] == "forward_layers.0.weight_ih_l0"
    assert len(names) == 16
