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
    """Run one layer, direction by direction: what a step touches then stays in the caches."""
    hidden = recurrent.shape[1]
    states = np.empty((2, packing.num_slots, hidden), dtype=np.float32)
    for direction, weight in enumerate(recurrent):
        # A table of (rows, 2 directions x gates) is read as one of (rows x 2 directions, gates).
        gathers = [
            (
                table.reshape(-1, 4 * hidden),
                2 * (rows[packing.reverse] if direction else rows).astype(np.int64) + direction,
            )
            for table, rows in tables
        ]
        _run_direction(packing.sizes.tolist(), gathers, weight, states[direction])
    return states


def _run_direction(
    sizes: Sequence[int], gathers: Sequence[TableRows], weight: FloatArray, states: FloatArray
) -> None:
    """Run one direction of a layer.

    Args:
        sizes: slots of each step, falling.
        gathers: what is added up to the gates, slot by slot.
        weight: (hidden, gates) recurrent weights.
        states: (slots, hidden), written to.
    """
    hidden, widest = len(weight), sizes[0]
    gate_memory = np.empty((widest, 4 * hidden), dtype=np.float32)
    product_memory = np.empty_like(gate_memory)
    cells = np.zeros((widest, hidden), dtype=np.float32)
    kept_memory, new_memory = np.empty_like(cells), np.empty_like(cells)
    before = first = 0
    for size in sizes:
        last = first + size
        gates, product = gate_memory[:size], product_memory[:size]
        table, rows = gathers[0]
        table.take(rows[first:last], axis=0, out=gates, mode="clip")
        for table, rows in gathers[1:]:
            gates += table[rows[first:last]]
        if first:
            np.matmul(states[before : before + size], weight, out=product)
            gates += product
        np.tanh(gates, out=gates)
        enter, forget = gates[:, :hidden], gates[:, hidden : 2 * hidden]
        leave, candidate = gates[:, 2 * hidden : 3 * hidden], gates[:, 3 * hidden :]
        cell, kept, new = cells[:size], kept_memory[:size], new_memory[:size]
        # cell = ((1 + forget) cell + (1 + enter) candidate) / 2
        np.multiply(forget, cell, out=kept)
        kept += cell
        np.multiply(enter, candidate, out=new)
        new += candidate
        np.add(kept, new, out=cell)
        cell *= _HALF
        # twice the state = (1 + leave) tanh(cell)
        np.tanh(cell, out=new)
        state = states[first:last]
        np.multiply(leave, new, out=state)
        state += new
        before, first = first, last
