"""The BiLSTM at prediction, in numpy: nothing that a word form decides alone is computed twice.

Without dropout, the product of a token's vector with the input weights of the first layer
depends on its word form only. So it is computed once per form and looked up for each token
(:meth:`NumpyBiLSTM.project`); what is left for each token is the recurrence. Both directions
run step by step together, over packed sentences.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.model.packing import Packing

FloatArray = NDArray[np.float32]
TableRows = tuple[FloatArray, NDArray[np.integer]]
"""A table of gate inputs, and which of its rows each slot takes."""

_HALF = np.float32(0.5)


class NumpyBiLSTM:
    """A trained BiLSTM in another form, with the same results up to rounding.

    The cell is that of ``torch.nn.LSTM``, rewritten so that all gates take one call of tanh, by
    ``sigmoid(x) = (1 + tanh(x / 2)) / 2``: the weights of the three sigmoid gates are halved,
    and twice the state is kept, which the weights behind it make up for. Factors of two change
    no digit.

    Args:
        weights: by name, as in the model file.
        layers: for each layer the names of its forward and its backward LSTM.
    """

    def __init__(self, weights: Mapping[str, FloatArray], layers: Sequence[tuple[str, str]]):
        self._inputs: list[tuple[FloatArray, FloatArray]] = []
        self._recurrent: list[FloatArray] = []
        for depth, names in enumerate(layers):
            cells = [_rewritten(weights, name, 0.5 if depth else 1.0) for name in names]
            self._inputs.append(
                (
                    np.concatenate([cell[0] for cell in cells], axis=1),
                    np.concatenate([cell[1] for cell in cells]),
                )
            )
            self._recurrent.append(np.stack([cell[2] for cell in cells]))

    @property
    def gates_size(self) -> int:
        """Numbers in a row of :meth:`project`: four gates for each unit, in both directions."""
        return len(self._inputs[0][1])

    def project(self, vectors: FloatArray) -> FloatArray:
        """Return what the first layer makes of token vectors: its gates in both directions.

        The vectors may lack their last components; see :meth:`project_part`.

        Args:
            vectors: (rows, input size).

        Returns:
            (rows, gates).
        """
        weight, bias = self._inputs[0]
        gates: FloatArray = vectors @ weight[: vectors.shape[1]]
        gates += bias
        return gates

    def project_part(self, vectors: FloatArray, first: int) -> FloatArray:
        """Return the share of some components of the token vector, from ``first`` on, no bias."""
        weight, _ = self._inputs[0]
        part: FloatArray = vectors @ weight[first : first + vectors.shape[1]]
        return part

    def states(self, packing: Packing, tables: Sequence[TableRows]) -> FloatArray:
        """Return twice the states of the last layer, forward ones and backward ones.

        Args:
            packing: the batch.
            tables: what is added up to the gates of each token: tables of rows from
                :meth:`project` or :meth:`project_part`, and which row each slot takes.

        Returns:
            (2, slots, hidden): the forward states slot by slot; the backward ones slot by slot
            from the other end, as ``packing.reverse`` has it.
        """
        states = _run(packing, tables, self._recurrent[0])
        slots = np.arange(packing.num_slots)
        for (weight, bias), recurrent in zip(self._inputs[1:], self._recurrent[1:], strict=True):
            gates = np.concatenate([states[0], states[1][packing.reverse]], axis=1) @ weight
            gates += bias
            states = _run(packing, [(gates, slots)], recurrent)
        return states


def _rewritten(
    weights: Mapping[str, FloatArray], name: str, input_scale: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return input weights (input, gates), bias and recurrent weights (hidden, gates) of a cell."""
    recurrent = weights[f"{name}.weight_hh_l0"]
    hidden = recurrent.shape[1]
    # Torch's order is input, forget, candidate, output; here the candidate comes last.
    order = np.r_[0 : 2 * hidden, 3 * hidden : 4 * hidden, 2 * hidden : 3 * hidden]
    scale = np.repeat(np.array([0.5, 1.0], dtype=np.float32), [3 * hidden, hidden])
    bias = weights[f"{name}.bias_ih_l0"] + weights[f"{name}.bias_hh_l0"]
    inputs = weights[f"{name}.weight_ih_l0"][order].T * scale * np.float32(input_scale)
    return inputs, bias[order] * scale, recurrent[order].T * scale * _HALF


def _run(packing: Packing, tables: Sequence[TableRows], recurrent: FloatArray) -> FloatArray:
    hidden = recurrent.shape[1]
    # A table of (rows, 2 directions x gates) is read as one of (rows x 2 directions, gates).
    gathers = [(table.reshape(-1, 4 * hidden), _step_rows(packing, rows)) for table, rows in tables]
    widest = int(packing.sizes[0])
    buffer = np.empty((2 * widest, 4 * hidden), dtype=np.float32)
    product = np.empty((2 * widest, 4 * hidden), dtype=np.float32)
    cells = np.zeros((2 * widest, hidden), dtype=np.float32).reshape(2, widest, hidden)
    spare = np.empty((2 * widest, hidden), dtype=np.float32)
    states = np.empty((2, packing.num_slots, hidden), dtype=np.float32)
    first = before = 0
    for size in packing.sizes.tolist():
        flat = buffer[: 2 * size]
        for number, (table, rows) in enumerate(gathers):
            here = rows[2 * first : 2 * (first + size)]
            if number:
                flat += table[here]
            else:
                table.take(here, axis=0, out=flat, mode="clip")
        gates = flat.reshape(2, size, 4 * hidden)
        if first:
            recurred = product[: 2 * size].reshape(2, size, 4 * hidden)
            np.matmul(states[:, before : before + size], recurrent, out=recurred)
            gates += recurred
        np.tanh(gates, out=gates)
        gates[:, :, : 3 * hidden] += 1
        enter, forget = gates[:, :, :hidden], gates[:, :, hidden : 2 * hidden]
        leave, candidate = gates[:, :, 2 * hidden : 3 * hidden], gates[:, :, 3 * hidden :]
        cell = cells[:, :size]
        enter *= candidate
        cell *= forget
        cell += enter
        cell *= _HALF
        open_cell = spare[: 2 * size].reshape(2, size, hidden)
        np.tanh(cell, out=open_cell)
        np.multiply(leave, open_cell, out=states[:, first : first + size])
        before, first = first, first + size
    return states


def _step_rows(packing: Packing, rows: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return, step by step, the table rows of the forward slots, then of the backward ones."""
    sizes = np.repeat(packing.sizes, packing.sizes)
    places = np.arange(packing.num_slots) + np.repeat(np.cumsum(packing.sizes), packing.sizes)
    order = np.empty(2 * packing.num_slots, dtype=np.int64)
    order[places - sizes] = 2 * rows
    order[places] = 2 * rows[packing.reverse] + 1
    return order
