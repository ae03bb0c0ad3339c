"""A trained network for labels alone, in numpy: no torch to import, and word forms encoded once.

It is made from the weights and settings of a model and gives the labels that the network in torch
gives (scores differ in the last digits of single precision). For probabilities, or another device
than the CPU, see :mod:`bilstm_crf.model.inference`.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.corpus.batch_plan import plan_batches
from bilstm_crf.corpus.context import sentences_inside
from bilstm_crf.corpus.forms import FormTable
from bilstm_crf.corpus.labels import OUTSIDE, allowed_transitions
from bilstm_crf.model.flat_sentences import FlatSentences
from bilstm_crf.model.numpy_forms import NumpyForms
from bilstm_crf.model.numpy_lstm import FloatArray, NumpyBiLSTM
from bilstm_crf.model.numpy_viterbi import NumpyViterbi, TransitionArrays
from bilstm_crf.model.packing import MIN_ROWS, Packing, pack

BATCH_SENTENCES = 192
BATCH_TOKENS = 16_384
"""Limits of a batch. More sentences leave the processor's caches, fewer leave its units idle."""

FORMS_AT_ONCE = 256
"""Word forms of similar length whose characters are encoded together."""


class NumpyNetwork:
    """A network for prediction. Any number of threads may use it at once.

    Args:
        weights: by name, as in the model file.
        settings: the section ``model`` of the configuration.
        labels: the labels of the model, by id.
        scheme: their scheme.
        columns: for each extra column the name of its table among the weights, in order.
        batch_sentences: most sentences of a batch.
        threads: how many batches are decoded side by side.
    """

    def __init__(
        self,
        weights: Mapping[str, NDArray[Any]],
        settings: Mapping[str, Any],
        labels: Sequence[str],
        scheme: str,
        columns: Mapping[str, str],
        *,
        batch_sentences: int = BATCH_SENTENCES,
        threads: int = 1,
    ):
        self._batch_sentences, self._threads = batch_sentences, threads
        self._forms = NumpyForms(weights, settings)
        rest = {
            name: weight.astype(np.float32, copy=False)
            for name, weight in weights.items()
            if name.startswith(("lstm.", "projection.", "head.", "column_embeddings."))
        }
        names = [
            (f"lstm.forward_layers.{depth}", f"lstm.backward_layers.{depth}")
            for depth in range(settings["lstm"]["layers"])
        ]
        self._lstm = NumpyBiLSTM(rest, names)
        projection = rest["projection.weight"] * np.float32(0.5)  # the states come doubled
        hidden = projection.shape[1] // 2
        self._ahead, self._behind = projection[:, :hidden].T.copy(), projection[:, hidden:].T.copy()
        bias = rest["projection.bias"].copy()
        self._viterbi: NumpyViterbi | None = None
        if settings["head"] == "crf":
            bias[labels.index(OUTSIDE)] += settings["crf"]["outside_bias"]
            self._viterbi = NumpyViterbi(_transitions(rest, settings, labels, scheme))
        self._bias = bias
        sizes = [rest[f"column_embeddings.{module}.weight"].shape[1] for module in columns.values()]
        first = rest["lstm.forward_layers.0.weight_ih_l0"].shape[1] - sum(sizes)
        self._columns: dict[str, FloatArray] = {}
        for (name, module), size in zip(columns.items(), sizes, strict=True):
            table = rest[f"column_embeddings.{module}.weight"]
            self._columns[name] = self._lstm.project_part(table, first)
            first += size

    @property
    def input_size(self) -> int:
        """Numbers in a row of form inputs."""
        return self._lstm.gates_size

    def new_inputs(self, rows: int) -> FloatArray:
        """Return memory for form inputs, not yet written to."""
        return np.empty((rows, self.input_size), dtype=np.float32)

    def form_inputs(
        self, forms: FormTable, numbers: NDArray[np.integer], *, out: FloatArray | None = None
    ) -> FloatArray:
        """Return what the first LSTM layer gets from some word forms, in their order.

        Args:
            forms: the table of forms.
            numbers: which of them.
            out: where to write it.
        """
        inputs = self.new_inputs(len(numbers)) if out is None else out
        order = np.argsort(forms.num_characters(numbers), kind="stable")
        for first in range(0, len(order), FORMS_AT_ONCE):
            some = order[first : first + FORMS_AT_ONCE]
            enough = np.resize(some, max(len(some), MIN_ROWS))
            vectors = self._forms.vectors(forms, numbers[enough])
            inputs[some] = self._lstm.project(vectors)[: len(some)]
        return inputs

    def label_ids(self, inputs: FloatArray, sentences: FlatSentences) -> NDArray[np.int64]:
        """Return the best label id of each token, sentence by sentence.

        Args:
            inputs: rows from :meth:`form_inputs`.
            sentences: their rows index ``inputs``.
        """
        labels = np.zeros(int(sentences.starts[-1]), dtype=np.int64)
        starts = sentences.sequence_starts
        lengths = np.diff(starts)
        plan = plan_batches(lengths, batch_size=self._batch_sentences, batch_tokens=BATCH_TOKENS)

        def decode(numbers: NDArray[np.int64]) -> None:
            packing = pack(lengths[numbers])
            places = starts[numbers][packing.rows] + packing.steps
            emissions = self._emissions(inputs, sentences, packing, places)
            if sentences.windows is not None:
                packing, places, emissions = _by_sentence(sentences, numbers, packing, emissions)
            if self._viterbi is None:
                found = emissions.argmax(axis=0)
            else:
                found = self._viterbi.paths(emissions, packing.mask.sum(0), packing.padded[0])
            labels[places[packing.token_slots]] = found[packing.token_slots]

        if self._threads == 1 or len(plan) == 1:
            for numbers in plan:
                decode(numbers)
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                list(pool.map(decode, plan))
        return labels

    def _emissions(
        self,
        inputs: FloatArray,
        sentences: FlatSentences,
        packing: Packing,
        places: NDArray[np.int64],
    ) -> FloatArray:
        """Return the (labels, slots) scores of a batch."""
        tables = [(inputs, sentences.rows[places])]
        for name, table in self._columns.items():
            tables.append((table, sentences.columns[name][places]))
        ahead, behind = self._lstm.states(packing, tables)
        scores: FloatArray = ahead @ self._ahead
        scores += (behind @ self._behind).take(packing.reverse, axis=0)
        scores += self._bias
        return np.ascontiguousarray(scores.T)


def _by_sentence(
    sentences: FlatSentences,
    windows: NDArray[np.int64],
    packing: Packing,
    emissions: FloatArray,
) -> tuple[Packing, NDArray[np.int64], FloatArray]:
    """Return layout, token places and scores of the sentences in a batch of windows."""
    starts = sentences.sequence_starts
    numbers, rows, offsets = sentences_inside(
        sentences.starts, starts[windows], starts[windows + 1]
    )
    lengths = np.diff(sentences.starts)[numbers]
    order = np.argsort(-lengths, kind="stable")
    numbers, rows, offsets = numbers[order], rows[order], offsets[order]
    inner = pack(lengths[order])
    slots = packing.padded[rows[inner.rows], offsets[inner.rows] + inner.steps]
    places = sentences.starts[numbers][inner.rows] + inner.steps
    return inner, places, np.ascontiguousarray(emissions[:, slots])


def _transitions(
    weights: Mapping[str, FloatArray],
    settings: Mapping[str, Any],
    labels: Sequence[str],
    scheme: str,
) -> TransitionArrays:
    start, pairs, end = (
        weights[f"head.{name}"] for name in ("start_transitions", "transitions", "end_transitions")
    )
    if settings["crf"]["constraints"] == "none":
        return TransitionArrays(start, pairs, end)
    allowed = allowed_transitions(labels, scheme)
    never = np.float32(-np.inf)
    return TransitionArrays(
        start=np.where(allowed.start, start, never),
        pairs=np.where(allowed.pairs, pairs, never),
        end=np.where(allowed.end, end, never),
    )
