"""A trained network arranged for prediction: from rows of word forms to emissions.

What does not depend on the sentence is computed once per word form (:meth:`form_inputs`) and
can be kept by the caller for as long as the weights do not change.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from bilstm_crf.corpus.batches import Batch, plan_batches
from bilstm_crf.corpus.forms import FormTable
from bilstm_crf.model.inference_lstm import InferenceBiLSTM
from bilstm_crf.model.packing import MIN_ROWS, Packing, pack
from bilstm_crf.model.tagger import TaggerNetwork

BATCH_SENTENCES = 128
BATCH_TOKENS = 16_384
"""Limits of a batch. On a CPU more sentences leave its caches, fewer leave its units idle."""

FORMS_AT_ONCE = 256
"""Word forms of similar length whose characters are encoded together."""

TableRows = tuple[Tensor, NDArray[np.integer]]
"""A table of inputs, and which of its rows each slot takes."""


@dataclass(frozen=True)
class FlatSentences:
    """Sentences as rows of a table of form inputs, one sentence after the other.

    Attributes:
        rows: (tokens,) table row of each token's form.
        starts: (sentences + 1,) where each sentence begins.
        columns: value ids of extra columns by name, each (tokens,).
    """

    rows: NDArray[np.integer]
    starts: NDArray[np.int64]
    columns: Mapping[str, NDArray[np.integer]] = field(default_factory=dict)


@dataclass(frozen=True)
class EmissionBatch:
    """The label scores of some sentences.

    Attributes:
        sentences: their numbers, longest sentence first.
        emissions: scores; what the padding holds has no meaning.
        mask: True at tokens.
        tokens: flat place of each token, sentence by sentence.
    """

    sentences: NDArray[np.int64]
    emissions: Float[Tensor, "batch time labels"]
    mask: Bool[Tensor, "batch time"]
    tokens: NDArray[np.int64]


class InferenceNetwork:
    """A network for prediction; the weights are those it has now.

    Args:
        network: in evaluation mode.
        batch_sentences: most sentences of a batch.
    """

    def __init__(self, network: TaggerNetwork, *, batch_sentences: int = BATCH_SENTENCES):
        self.head = network.head
        self.device = next(network.parameters()).device
        self._network, self._batch_sentences = network, batch_sentences
        # Other devices have kernels of their own for the whole recurrence.
        on_cpu = self.device.type == "cpu"
        self._encoder: _Encoder = _PackedEncoder(network) if on_cpu else _PaddedEncoder(network)
        self._column_inputs: dict[str, Tensor] = {}
        first = network.form_size
        with torch.inference_mode():
            for name in network.columns:
                table = network.column_table(name)
                self._column_inputs[name] = self._encoder.project_part(table, first)
                first += table.shape[1]

    @property
    def input_size(self) -> int:
        """Numbers in a row of form inputs."""
        return self._encoder.input_size

    def new_inputs(self, rows: int) -> Float[Tensor, "rows input"]:
        """Return memory for form inputs, not yet written to."""
        return torch.empty(rows, self.input_size, device=self.device)

    @torch.inference_mode()
    def form_inputs(
        self, forms: FormTable, numbers: NDArray[np.integer], *, out: Tensor | None = None
    ) -> Float[Tensor, "forms input"]:
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
            projected = self._encoder.project(self._encode(forms, numbers[enough]))
            rows = torch.from_numpy(some).to(self.device)
            inputs.index_copy_(0, rows, projected[: len(some)])
        return inputs

    def _encode(self, forms: FormTable, numbers: NDArray[np.integer]) -> Tensor:
        nothing = torch.zeros(0, dtype=torch.int64)
        batch = Batch(
            words=torch.from_numpy(forms.words[numbers]),
            chars=torch.from_numpy(forms.characters(numbers)),
            form_features=torch.from_numpy(forms.features[numbers]),
            index=nothing[:, None],
            lengths=nothing,
        )
        return self._network.encode_forms(batch.to(self.device)).float()

    @torch.inference_mode()
    def emissions(self, inputs: Tensor, sentences: FlatSentences) -> Iterator[EmissionBatch]:
        """Yield the emissions of sentences in batches of similar length, longest first.

        Args:
            inputs: rows from :meth:`form_inputs`.
            sentences: any number; empty ones are in no batch.
        """
        lengths = np.diff(sentences.starts)
        plan = plan_batches(lengths, batch_size=self._batch_sentences, batch_tokens=BATCH_TOKENS)
        for numbers in plan:
            packing = pack(lengths[numbers])
            first = sentences.starts[numbers]
            places = first[packing.rows] + packing.steps
            tables = [(inputs, sentences.rows[places])]
            for name, table in self._column_inputs.items():
                tables.append((table, sentences.columns[name][places]))
            time = np.arange(packing.mask.shape[1])
            yield EmissionBatch(
                sentences=numbers,
                emissions=self._encoder.emissions(packing, tables),
                mask=torch.from_numpy(packing.mask).to(self.device),
                tokens=(first[:, None] + time)[packing.mask],
            )


class _Encoder(Protocol):
    """What lies between the vectors of tokens and their emissions."""

    input_size: int

    def project(self, vectors: Tensor) -> Tensor:
        """Return what can be computed of whole token vectors, a row each."""

    def project_part(self, vectors: Tensor, first: int) -> Tensor:
        """Return what can be computed of components from ``first`` on."""

    def emissions(
        self, packing: Packing, tables: Sequence[TableRows]
    ) -> Float[Tensor, "batch time labels"]:
        """Return the emissions of a batch, any numbers in the padding."""


class _PackedEncoder:
    """The network's upper part on a CPU."""

    def __init__(self, network: TaggerNetwork):
        self._lstm = InferenceBiLSTM(network.lstm)
        self.input_size = self._lstm.gates_size
        self.project, self.project_part = self._lstm.project, self._lstm.project_part
        hidden = network.lstm.output_size // 2
        weight = network.projection.weight.detach().float()
        # The states come halved.
        self._ahead, self._behind = (2 * weight[:, :hidden]).T, (2 * weight[:, hidden:]).T
        self._bias = network.projection.bias.detach().float()

    def emissions(
        self, packing: Packing, tables: Sequence[TableRows]
    ) -> Float[Tensor, "batch time labels"]:
        ahead, behind = self._lstm.states(packing, tables)
        scores = torch.addmm(self._bias, ahead, self._ahead)
        scores += (behind @ self._behind)[torch.from_numpy(packing.reverse)]
        return scores[torch.from_numpy(packing.padded)]


class _PaddedEncoder:
    """The network's upper part as it was trained, on padded batches."""

    def __init__(self, network: TaggerNetwork):
        self._network, self.input_size = network, network.form_size

    def project(self, vectors: Tensor) -> Tensor:
        return vectors

    def project_part(self, vectors: Tensor, first: int) -> Tensor:
        return vectors

    def emissions(
        self, packing: Packing, tables: Sequence[TableRows]
    ) -> Float[Tensor, "batch time labels"]:
        device = tables[0][0].device
        slots = packing.padded.T  # (time, batch)
        parts = [table[torch.from_numpy(rows[slots]).to(device)] for table, rows in tables]
        lengths = torch.from_numpy(packing.mask.sum(1)).to(device)
        states = self._network.lstm(torch.cat(parts, dim=2), lengths)
        scores: Tensor = self._network.projection(states)
        return scores.float().transpose(0, 1)
