"""A trained network for prediction in numpy: no torch to import, and word forms encoded once.

It is made from the weights and settings of a model and gives what the network in torch gives
(scores differ in the last digits of single precision). For the k best paths, or another device
than the CPU, see :mod:`bilstm_crf.model.inference`.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.corpus.batch_plan import plan_batches
from bilstm_crf.corpus.context import sentences_inside
from bilstm_crf.corpus.forms import FormTable
from bilstm_crf.model.flat_sentences import FlatSentences
from bilstm_crf.model.numpy_emitter import NumpyEmitter
from bilstm_crf.model.numpy_head import NumpyHead
from bilstm_crf.model.numpy_lstm import FloatArray
from bilstm_crf.model.packing import MIN_ROWS, Packing, pack

BATCH_SENTENCES = 192
BATCH_TOKENS = 16_384
"""Limits of a batch. More sentences leave the processor's caches, fewer leave its units idle."""

FORMS_AT_ONCE = 256
"""Word forms of similar length whose characters are encoded together."""

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class PackedEmissions:
    """The label scores of some sentences.

    Attributes:
        sentences: (batch,) their numbers, longest sentence first.
        packing: how their tokens stand in the slots.
        places: (slots,) flat place of each slot's token, sentence by sentence.
        scores: (slots, labels).
    """

    sentences: IntArray
    packing: Packing
    places: IntArray
    scores: FloatArray

    def of(self, rows: IntArray) -> "PackedEmissions":
        """Return those of some sentences of the batch, given by their rising places in it."""
        packing = pack(self.packing.lengths[rows])
        slots = self.packing.padded[rows[packing.rows], packing.steps]
        return PackedEmissions(
            self.sentences[rows], packing, self.places[slots], self.scores[slots]
        )


class NumpyNetwork:
    """A network for prediction. Any number of threads may use it at once.

    Args:
        weights: by name, as in the model file.
        settings: the section ``model`` of the configuration.
        labels: the labels of the model, by id.
        scheme: their scheme.
        columns: for each extra column the name of its table among the weights, in order.
        batch_sentences: most sentences of a batch.
        threads: how many batches are worked on side by side.
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
        self._members = [
            NumpyEmitter(_member(weights, number), settings, columns)
            for number in range(settings.get("members", 1))
        ]
        self.head = NumpyHead(weights, settings, labels, scheme)

    @property
    def input_size(self) -> int:
        """Numbers in a row of form inputs, those of all members side by side."""
        return sum(member.input_size for member in self._members)

    def new_inputs(self, rows: int) -> FloatArray:
        """Return memory for form inputs, not yet written to."""
        return np.empty((rows, self.input_size), dtype=np.float32)

    def form_inputs(
        self, forms: FormTable, numbers: NDArray[np.integer], *, out: FloatArray | None = None
    ) -> FloatArray:
        """Return what the first LSTM layers get from some word forms, in their order.

        Args:
            forms: the table of forms.
            numbers: which of them.
            out: where to write it.
        """
        inputs = self.new_inputs(len(numbers)) if out is None else out
        order = np.argsort(forms.num_characters(numbers), kind="stable")
        for first in range(0, len(order), FORMS_AT_ONCE):
            some = order[first : first + FORMS_AT_ONCE]
            enough = numbers[np.resize(some, max(len(some), MIN_ROWS))]
            column = 0
            for member in self._members:
                last = column + member.input_size
                inputs[some, column:last] = member.form_inputs(forms, enough)[: len(some)]
                column = last
        return inputs

    def label_ids(self, inputs: FloatArray, sentences: FlatSentences) -> IntArray:
        """Return the label id to predict of each token, sentence by sentence.

        Args:
            inputs: rows from :meth:`form_inputs`.
            sentences: their rows index ``inputs``.
        """
        labels = np.zeros(int(sentences.starts[-1]), dtype=np.int64)

        def decode(batch: PackedEmissions) -> None:
            slots = batch.packing.token_slots
            labels[batch.places[slots]] = self.head.decode(batch.scores, batch.packing)[slots]

        self.for_each_batch(inputs, sentences, decode)
        return labels

    def for_each_batch(
        self,
        inputs: FloatArray,
        sentences: FlatSentences,
        use: Callable[[PackedEmissions], None],
    ) -> None:
        """Score all sentences and hand them over, batch by batch, from several threads perhaps.

        Args:
            inputs: rows from :meth:`form_inputs`.
            sentences: their rows index ``inputs``; empty ones are in no batch.
            use: gets each batch.
        """
        starts = sentences.sequence_starts
        lengths = np.diff(starts)
        plan = plan_batches(lengths, batch_size=self._batch_sentences, batch_tokens=BATCH_TOKENS)

        def work(numbers: IntArray) -> None:
            packing = pack(lengths[numbers])
            places = starts[numbers][packing.rows] + packing.steps
            scores = self._emissions(inputs, sentences, packing, places)
            batch = PackedEmissions(numbers, packing, places, scores)
            use(batch if sentences.windows is None else _by_sentence(sentences, batch))

        if self._threads == 1 or len(plan) == 1:
            for numbers in plan:
                work(numbers)
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                list(pool.map(work, plan))

    def _emissions(
        self, inputs: FloatArray, sentences: FlatSentences, packing: Packing, places: IntArray
    ) -> FloatArray:
        """Return the (slots, labels) scores of a batch, the mean of all members'."""
        rows = sentences.rows[places]
        columns = {name: ids[places] for name, ids in sentences.columns.items()}
        # Of a table whose rows hold all members' inputs, each takes every n-th row of its parts.
        count = len(self._members)
        parts = inputs.reshape(-1, self.input_size // count)
        total = self._members[0].emissions(parts, rows * count, columns, packing)
        for number, member in enumerate(self._members[1:], 1):
            total += member.emissions(parts, rows * count + number, columns, packing)
        if count > 1:
            total /= np.float32(count)
        return total


def _member(weights: Mapping[str, NDArray[Any]], number: int) -> Mapping[str, NDArray[Any]]:
    """Return the weights of one emitter under the names that the first one has."""
    if not number:
        return weights
    prefix = f"others.{number - 1}."
    own = {
        name.removeprefix(prefix): weight
        for name, weight in weights.items()
        if name.startswith(prefix)
    }
    return {"word_embeddings.stored": weights["word_embeddings.stored"], **own}


def _by_sentence(sentences: FlatSentences, windows: PackedEmissions) -> PackedEmissions:
    """Return the scores of the sentences in a batch of windows."""
    starts = sentences.sequence_starts
    numbers, rows, offsets = sentences_inside(
        sentences.starts, starts[windows.sentences], starts[windows.sentences + 1]
    )
    lengths = np.diff(sentences.starts)[numbers]
    order = np.argsort(-lengths, kind="stable")
    numbers, rows, offsets = numbers[order], rows[order], offsets[order]
    packing = pack(lengths[order])
    slots = windows.packing.padded[rows[packing.rows], offsets[packing.rows] + packing.steps]
    places = sentences.starts[numbers][packing.rows] + packing.steps
    return PackedEmissions(numbers, packing, places, windows.scores[slots])
