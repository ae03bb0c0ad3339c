"""The BiLSTM: two one-way LSTMs, the second fed each sentence reversed within its own length.

A two-way LSTM over padded sentences starts its backward pass in the padding. Reversing each
sentence by itself gives the result of a packed sequence, without packing (which is slower
and cannot be exported).
"""

from typing import Any

import torch
from jaxtyping import Float, Int64
from pydantic import Field
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from bilstm_crf.model.dropout import LockedDropout
from bilstm_crf.model.layout import side_by_side
from bilstm_crf.section import Section


class LSTMSection(Section):
    """The sentence BiLSTM."""

    hidden_size: int = Field(default=128, ge=1, le=8192)
    """LSTM units per direction."""

    layers: int = Field(default=1, ge=1, le=16)
    """BiLSTM layers, each over the output of the one below."""

    def build(self, input_size: int, dropout: float) -> "BiLSTM":
        return BiLSTM(input_size, self.hidden_size, self.layers, dropout)


def reversal_index(lengths: Int64[Tensor, "batch"], time: int) -> Int64[Tensor, "batch time"]:
    """Return, for each step, the step that stands there once the sentence is reversed.

    Padding stays where it is, so applying the index twice changes nothing.
    """
    steps = torch.arange(time, device=lengths.device)[None, :]
    return torch.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps)


def reverse_within_length(
    inputs: Float[Tensor, "batch time size"], lengths: Int64[Tensor, "batch"]
) -> Float[Tensor, "batch time size"]:
    """Reverse each sentence in time, leaving its padding behind it."""
    batch, time, size = inputs.shape
    steps, sentences = reversal_index(lengths, time), torch.arange(batch, device=inputs.device)
    if torch.compiler.is_compiling():  # no other form of this can be exported to ONNX
        return inputs[sentences[:, None], steps]
    rows = (steps.t() * batch + sentences).flatten()  # of a matrix by time and then sentence
    by_time = inputs.transpose(0, 1).reshape(time * batch, size)
    reordered: Tensor = _Reversal.apply(by_time, rows)  # type: ignore[no-untyped-call]
    return reordered.view(time, batch, size).transpose(0, 1)


class _Reversal(torch.autograd.Function):
    """A reordering of rows that is its own inverse: the gradient needs no scattered sums."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        return inputs.index_select(0, rows)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (rows,) = ctx.saved_tensors
        return gradient.index_select(0, rows), None


class BiLSTM(nn.Module):
    """One or more layers of LSTMs in both directions, with locked dropout between layers.

    Graves and Schmidhuber 2005, "Framewise phoneme classification with bidirectional LSTM".

    Args:
        input_size: size of a token's vector.
        hidden_size: units per direction.
        layers: number of layers.
        dropout: locked dropout between layers.
    """

    def __init__(self, input_size: int, hidden_size: int, layers: int, dropout: float):
        super().__init__()
        self.output_size = 2 * hidden_size
        sizes = [input_size] + [2 * hidden_size] * (layers - 1)
        self.forward_layers = nn.ModuleList(
            nn.LSTM(size, hidden_size, batch_first=True) for size in sizes
        )
        self.backward_layers = nn.ModuleList(
            nn.LSTM(size, hidden_size, batch_first=True) for size in sizes
        )
        self.dropout = LockedDropout(dropout)
        self._initialise(hidden_size)

    def _initialise(self, hidden_size: int) -> None:
        for name, parameter in self.named_parameters():
            if "weight_hh" in name:
                for gate in parameter.data.chunk(4):
                    nn.init.orthogonal_(gate)
            elif "weight_ih" in name:
                for gate in parameter.data.chunk(4):
                    nn.init.xavier_uniform_(gate)
            else:
                nn.init.zeros_(parameter)
                if "bias_ih" in name:
                    # A forget gate that starts open (Jozefowicz et al. 2015, section 2.2).
                    parameter.data[hidden_size : 2 * hidden_size] = 1.0

    def forward(
        self, inputs: Float[Tensor, "batch time input"], lengths: Int64[Tensor, "batch"]
    ) -> Float[Tensor, "batch time size"]:
        outputs = inputs
        layers = zip(self.forward_layers, self.backward_layers, strict=True)
        for depth, (forward_lstm, backward_lstm) in enumerate(layers):
            if depth:
                outputs = self.dropout(outputs)
            ahead, _ = forward_lstm(outputs)
            behind, _ = backward_lstm(reverse_within_length(outputs, lengths))
            outputs = side_by_side([ahead, reverse_within_length(behind, lengths)])
        return outputs
