"""Below the CRF, in numpy: from word forms and a batch of sentences to emissions."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.corpus.forms import FormTable
from bilstm_crf.model.numpy_forms import NumpyForms
from bilstm_crf.model.numpy_lstm import FloatArray, NumpyBiLSTM
from bilstm_crf.model.packing import Packing

ColumnRows = Mapping[str, NDArray[np.integer]]
"""Value ids of the extra columns by name."""


class NumpyEmitter:
    """All of one member of a network below the CRF.

    Args:
        weights: by name, as :class:`bilstm_crf.model.emitter.Emitter` has them.
        settings: the section ``model`` of the configuration.
        columns: for each extra column the name of its table among the weights, in order.
    """

    def __init__(
        self,
        weights: Mapping[str, NDArray[Any]],
        settings: Mapping[str, Any],
        columns: Mapping[str, str],
    ):
        self._forms = NumpyForms(weights, settings)
        rest = {
            name: weight.astype(np.float32, copy=False)
            for name, weight in weights.items()
            if name.startswith(("lstm.", "projection.", "column_embeddings."))
        }
        names = [
            (f"lstm.forward_layers.{depth}", f"lstm.backward_layers.{depth}")
            for depth in range(settings["lstm"]["layers"])
        ]
        self._lstm = NumpyBiLSTM(rest, names)
        projection = rest["projection.weight"] * np.float32(0.5)  # the states come doubled
        hidden = projection.shape[1] // 2
        self._ahead, self._behind = projection[:, :hidden].T.copy(), projection[:, hidden:].T.copy()
        self._bias = rest["projection.bias"]
        sizes = [rest[f"column_embeddings.{module}.weight"].shape[1] for module in columns.values()]
        first = rest["lstm.forward_layers.0.weight_ih_l0"].shape[1] - sum(sizes)
        self._columns: dict[str, FloatArray] = {}
        for (name, module), size in zip(columns.items(), sizes, strict=True):
            table = rest[f"column_embeddings.{module}.weight"]
            self._columns[name] = self._lstm.project_part(table, first)
            first += size

    @property
    def input_size(self) -> int:
        """Numbers in a row of :meth:`form_inputs`."""
        return self._lstm.gates_size

    def form_inputs(self, forms: FormTable, numbers: NDArray[np.integer]) -> FloatArray:
        """Return (forms, input size): what the first LSTM layer gets from some word forms."""
        return self._lstm.project(self._forms.vectors(forms, numbers))

    def emissions(
        self, inputs: FloatArray, rows: NDArray[np.integer], columns: ColumnRows, packing: Packing
    ) -> FloatArray:
        """Return the (slots, labels) scores of a batch.

        Args:
            inputs: a table of rows from :meth:`form_inputs`.
            rows: (slots,) which of them each slot takes.
            columns: each (slots,).
            packing: the batch.
        """
        tables = [(inputs, rows)]
        tables += [(table, columns[name]) for name, table in self._columns.items()]
        ahead, behind = self._lstm.states(packing, tables)
        scores: FloatArray = ahead @ self._ahead
        scores += (behind @ self._behind).take(packing.reverse, axis=0)
        scores += self._bias
        return scores
