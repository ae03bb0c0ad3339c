"""The BiLSTM at prediction: nothing that a word form decides alone is computed twice.

Without dropout, the product of a token's vector with the input weights of the first layer
depends on its word form only. So it is computed once per form and looked up for each token
(:meth:`InferenceBiLSTM.project`); what is left for each token is the recurrence. Both
directions run in one batched product per step, over packed sentences (no padding).
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn

from bilstm_crf.model.packing import Packing
from bilstm_crf.model.recurrent import BiLSTM

IntArray = NDArray[np.integer]


class InferenceBiLSTM:
    """A trained BiLSTM in another form, with the same results up to rounding.

    The cell is that of ``nn.LSTM``. It is rewritten so that all four gates take one call of the
    sigmoid, by ``tanh(x) = 2 sigmoid(2 x) - 1``: the candidate's weights are doubled, and the
    state kept is ``h / 2 = o (sigmoid(2 c) - 1/2)`` beside ``2 c``, which the weights behind it
    make up for. Factors of two change no digit.

    Args:
        lstm: the trained network; its weights are copied.
    """

    def __init__(self, lstm: BiLSTM):
        self._input_weights: list[tuple[Tensor, Tensor]] = []
        self._recurrent_weights: list[Tensor] = []
        layers = zip(lstm.forward_layers, lstm.backward_layers, strict=True)
        for depth, directions in enumerate(layers):
            cells = [_scaled(cell, 2.0 if depth else 1.0) for cell in directions]
            weights, biases, recurrent = zip(*cells, strict=True)
            self._input_weights.append((torch.cat(weights).T.contiguous(), torch.cat(biases)))
            self._recurrent_weights.append(torch.stack(recurrent).contiguous())

    @property
    def gates_size(self) -> int:
        """Numbers in a row of :meth:`project`: four gates for each unit, in both directions."""
        return self._input_weights[0][1].shape[0]

    def project(self, vectors: Float[Tensor, "rows input"]) -> Float[Tensor, "rows gates"]:
        """Return what the first layer makes of token vectors: its gates in both directions.

        The vectors may lack their last components; see :meth:`project_part`.
        """
        weight, bias = self._input_weights[0]
        return torch.addmm(bias, vectors, weight[: vectors.shape[1]])

    def project_part(
        self, vectors: Float[Tensor, "rows part"], first: int
    ) -> Float[Tensor, "rows gates"]:
        """Return the share of some components of the token vector, from ``first`` on, no bias."""
        weight, _ = self._input_weights[0]
        return vectors @ weight[first : first + vectors.shape[1]]

    def states(
        self, packing: Packing, tables: Sequence[tuple[Tensor, IntArray]]
    ) -> Float[Tensor, "2 slots hidden"]:
        """Return the halved states of the last layer, forward ones and backward ones.

        Args:
            packing: the batch.
            tables: what is added up to the gates of each token: tables of rows from
                :meth:`project` or :meth:`project_part`, and which row each slot takes.

        Returns:
            The forward states slot by slot; the backward ones slot by slot from the other end,
            as ``packing.reverse`` has it.
        """
        states = _run(packing, tables, self._recurrent_weights[0])
        reverse, slots = torch.from_numpy(packing.reverse), np.arange(packing.num_slots)
        upper = zip(self._input_weights[1:], self._recurrent_weights[1:], strict=True)
        for (weight, bias), recurrent in upper:
            both = torch.cat([states[0], states[1][reverse]], dim=1)
            states = _run(packing, [(torch.addmm(bias, both, weight), slots)], recurrent)
        return states


def _scaled(cell: nn.Module, input_scale: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return a cell's input weights, its bias and its recurrent weights, rewritten."""
    parameters = {name: weight.detach().float() for name, weight in cell.named_parameters()}
    recurrent = parameters["weight_hh_l0"]
    hidden = recurrent.shape[1]
    scale = torch.ones(4 * hidden, 1)
    scale[2 * hidden : 3 * hidden] = 2.0  # the candidate, third of torch's gates
    bias = parameters["bias_ih_l0"] + parameters["bias_hh_l0"]
    return (
        parameters["weight_ih_l0"] * scale * input_scale,  # upper layers' inputs are halved states
        bias * scale[:, 0],
        (recurrent * scale * 2.0).T,
    )


def _run(
    packing: Packing, tables: Sequence[tuple[Tensor, IntArray]], recurrent: Tensor
) -> Float[Tensor, "2 slots hidden"]:
    hidden = recurrent.shape[1]
    slots, sizes = packing.num_slots, packing.sizes.tolist()
    gathers = [(table.view(-1, 4 * hidden), _step_rows(packing, rows)) for table, rows in tables]
    widest = sizes[0]
    buffer = recurrent.new_empty(2 * widest, 4 * hidden)
    cells = recurrent.new_zeros(2, widest, hidden)
    squashed = recurrent.new_empty(2 * widest, hidden)
    states = recurrent.new_empty(2, slots, hidden)
    first = 0
    before: Tensor | None = None
    for size in sizes:
        flat = buffer[: 2 * size]
        table, rows = gathers[0]
        torch.index_select(table, 0, rows[2 * first : 2 * (first + size)], out=flat)
        for table, rows in gathers[1:]:
            flat += table.index_select(0, rows[2 * first : 2 * (first + size)])
        gates = flat.view(2, size, 4 * hidden)
        if before is not None:
            torch.baddbmm(gates, before[:, :size], recurrent, out=gates)
        gates.sigmoid_()
        enter, forget, candidate, leave = torch.split(gates, hidden, dim=2)
        cell = cells[:, :size]
        cell.mul_(forget)
        cell.addcmul_(enter, candidate.sub_(0.5), value=4.0)
        open_cell = torch.sigmoid(cell, out=squashed[: 2 * size].view(2, size, hidden))
        before = states[:, first : first + size]
        torch.mul(leave, open_cell.sub_(0.5), out=before)
        first += size
    return states


def _step_rows(packing: Packing, rows: IntArray) -> Tensor:
    """Return, step by step, the table rows of the forward slots, then of the backward ones.

    A table of (rows, 2 directions x gates) is read as one of (rows x 2 directions, gates).
    """
    sizes = np.repeat(packing.sizes, packing.sizes)
    places = np.arange(packing.num_slots) + np.repeat(np.cumsum(packing.sizes), packing.sizes)
    order = np.empty(2 * packing.num_slots, dtype=np.int64)
    order[places - sizes] = 2 * rows
    order[places] = 2 * rows[packing.reverse] + 1
    return torch.from_numpy(order)
