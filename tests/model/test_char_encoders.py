"""Character encoders: padding changes nothing, and the fast way equals the plain one."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from bilstm_crf.model.char_encoders import (
    CharCNN,
    CharCNNSection,
    CharLSTM,
    CharLSTMSection,
    NoCharsSection,
)
from bilstm_crf.model.char_windows import lay_out_windows, pooled_window_sums

SECTIONS = [CharCNNSection(size=4, filters=6), CharLSTMSection(size=4, hidden_size=3)]


def as_table(forms: list[list[int]]) -> Tensor:
    """Return (forms, chars), 0 behind each form."""
    longest = max(1, *(len(form) for form in forms))
    return torch.tensor([form + [0] * (longest - len(form)) for form in forms])


any_forms = st.lists(
    st.lists(st.integers(1, 5), min_size=0, max_size=7), min_size=1, max_size=6
).map(as_table)


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.type)
def test_padding_and_company_change_nothing(section: CharCNNSection | CharLSTMSection) -> None:
    encoder = section.build(9)
    forms = as_table([[3, 1, 4], [1], [5, 8, 2, 6, 5, 3, 5]])
    together = encoder(F.pad(forms, (0, 4)))
    assert together.shape == (3, encoder.output_size)
    for form, vector in zip(forms, together, strict=True):
        alone = encoder(form[form != 0][None])[0]
        torch.testing.assert_close(alone, vector)


@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.type)
def test_padding_gets_no_gradient(section: CharCNNSection | CharLSTMSection) -> None:
    encoder = section.build(9)
    encoder(as_table([[3, 1, 4], [1]])).square().sum().backward()
    gradient = encoder.embedding.weight.grad
    assert gradient[0].abs().sum() == 0
    assert (gradient[[1, 3, 4]].abs().sum(1) > 0).all()


def test_without_characters_there_is_nothing() -> None:
    assert NoCharsSection().build(9)(as_table([[1, 2], [3]])).shape == (2, 0)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
@pytest.mark.parametrize("num_chars", [6, 500])
@given(chars=any_forms)
@settings(max_examples=15, deadline=None)
def test_cnn_by_look_up_equals_convolution(width: int, num_chars: int, chars: Tensor) -> None:
    torch.manual_seed(1)
    encoder = CharCNN(num_chars, 3, 5, width).double()
    weights = list(encoder.parameters())
    fast, plain = encoder._sum_and_pool(chars), encoder._convolve_and_pool(chars)
    torch.testing.assert_close(fast, plain)
    towards = torch.randn_like(plain)
    for ours, theirs in zip(
        torch.autograd.grad(fast, weights, towards),
        torch.autograd.grad(plain, weights, towards),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)


def test_cnn_convolves() -> None:
    encoder = CharCNN(9, 4, 6, 3)
    chars = as_table([[3, 1, 4, 1]])
    kernel = encoder.convolution.weight.view(6, 4, 3)
    vectors = encoder.embedding(chars).transpose(1, 2)
    expected = F.conv1d(vectors, kernel, encoder.convolution.bias, padding=1).amax(2)
    torch.testing.assert_close(encoder(chars), expected)


def test_gradient_of_the_pooled_sums() -> None:
    chars = as_table([[1, 2, 3], [4], [2, 5]])
    windows = lay_out_windows(chars, 3)
    added = torch.randn(6, 3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda a: pooled_window_sums(a, windows.chars, windows), added)


def test_equal_maxima_share_the_gradient() -> None:
    chars = as_table([[1, 1, 1]])
    windows = lay_out_windows(chars, 1)
    added = torch.tensor([[[0.0]], [[2.0]]], requires_grad=True)
    pooled_window_sums(added, windows.chars, windows).backward(torch.ones(1, 1))
    assert added.grad is not None
    assert added.grad.flatten().tolist() == [0.0, 1.0]


def test_lstm_takes_the_last_states_of_both_directions() -> None:
    encoder = CharLSTM(9, 4, 3)
    word = torch.tensor([[3, 1, 4]])
    vector = encoder(F.pad(word, (0, 2)))[0]
    _, (ahead, _) = encoder.forward_lstm(encoder.embedding(word))
    _, (behind, _) = encoder.backward_lstm(encoder.embedding(word.flip(1)))
    torch.testing.assert_close(vector, torch.cat([ahead[0, 0], behind[0, 0]]))
