"""A trained network for prediction in torch: emissions, and from them labels or probabilities.

What does not depend on the sentence is computed once per word form (:meth:`form_inputs`) and
can be kept by the caller for as long as the weights do not change. On a CPU
:mod:`bilstm_crf.model.numpy_network` does without torch.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor

from bilstm_crf.corpus.batches import Batch, plan_batches
from bilstm_crf.corpus.context import sentences_inside
from bilstm_crf.corpus.forms import FormTable
from bilstm_crf.model.flat_sentences import FlatSentences
from bilstm_crf.model.numpy_network import BATCH_SENTENCES, BATCH_TOKENS, FORMS_AT_ONCE
from bilstm_crf.model.tagger import TaggerNetwork


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

    @property
    def input_size(self) -> int:
        """Numbers in a row of form inputs."""
        return self._network.form_size

    def new_inputs(self, rows: int) -> Float[Tensor, "rows input"]:
        """Return memory for form inputs, not yet written to."""
        return torch.empty(rows, self.input_size, device=self.device)

    @torch.inference_mode()
    def form_inputs(
        self, forms: FormTable, numbers: NDArray[np.integer], *, out: Tensor | None = None
    ) -> Float[Tensor, "forms input"]:
        """Return the vectors of some word forms, in their order.

        Args:
            forms: the table of forms.
            numbers: which of them.
            out: where to write them.
        """
        inputs = self.new_inputs(len(numbers)) if out is None else out
        order = np.argsort(forms.num_characters(numbers), kind="stable")
        nothing = torch.zeros(0, dtype=torch.int64)
        for first in range(0, len(order), FORMS_AT_ONCE):
            some = order[first : first + FORMS_AT_ONCE]
            batch = Batch(
                words=torch.from_numpy(forms.words[numbers[some]]),
                chars=torch.from_numpy(forms.characters(numbers[some])),
                form_features=torch.from_numpy(forms.features[numbers[some]]),
                index=nothing[:, None],
                lengths=nothing,
            )
            vectors = self._network.encode_forms(batch.to(self.device)).float()
            inputs.index_copy_(0, torch.from_numpy(some).to(self.device), vectors)
        return inputs

    @torch.inference_mode()
    def emissions(self, inputs: Tensor, sentences: FlatSentences) -> Iterator[EmissionBatch]:
        """Yield the emissions of sentences in batches of similar length, longest first.

        Args:
            inputs: rows from :meth:`form_inputs`.
            sentences: any number; empty ones are in no batch.
        """
        starts = sentences.sequence_starts
        lengths = np.diff(starts)
        plan = plan_batches(lengths, batch_size=self._batch_sentences, batch_tokens=BATCH_TOKENS)
        for numbers in plan:
            time = np.arange(lengths[numbers[0]])
            mask = time < lengths[numbers][:, None]  # (batch, time)
            places = np.where(mask, starts[numbers][:, None] + time, 0)
            values = {
                name: torch.from_numpy(ids[places]).to(self.device)
                for name, ids in sentences.columns.items()
            }
            rows = torch.from_numpy(sentences.rows[places]).to(self.device)
            lengths_here = torch.from_numpy(lengths[numbers]).to(self.device)
            emissions = self._network.token_emissions(inputs, rows, lengths_here, values)
            if sentences.windows is not None:
                yield from self._by_sentence(emissions, sentences, numbers)
                continue
            yield EmissionBatch(
                sentences=numbers,
                emissions=emissions,
                mask=torch.from_numpy(mask).to(self.device),
                tokens=places[mask],
            )

    def _by_sentence(
        self,
        emissions: Float[Tensor, "batch time labels"],
        sentences: FlatSentences,
        windows: NDArray[np.int64],
    ) -> Iterator[EmissionBatch]:
        """Yield the emissions of the sentences in some windows."""
        starts = sentences.sequence_starts
        numbers, rows, offsets = sentences_inside(
            sentences.starts, starts[windows], starts[windows + 1]
        )
        lengths = np.diff(sentences.starts)[numbers]
        flat = emissions.flatten(0, 1)
        first_places = rows * emissions.shape[1] + offsets
        plan = plan_batches(lengths, batch_size=self._batch_sentences, batch_tokens=BATCH_TOKENS)
        for some in plan:
            time = np.arange(lengths[some[0]])
            mask = time < lengths[some][:, None]
            places = np.where(mask, first_places[some][:, None] + time, 0)
            yield EmissionBatch(
                sentences=numbers[some],
                emissions=flat[torch.from_numpy(places).to(self.device)],
                mask=torch.from_numpy(mask).to(self.device),
                tokens=(sentences.starts[numbers[some]][:, None] + time)[mask],
            )

    @torch.inference_mode()
    def label_ids(self, inputs: Tensor, sentences: FlatSentences) -> NDArray[np.int64]:
        """Return the best label id of each token, sentence by sentence."""
        labels = np.zeros(int(sentences.starts[-1]), dtype=np.int64)
        for batch in self.emissions(inputs, sentences):
            paths = self.head.decode(batch.emissions, batch.mask)
            labels[batch.tokens] = paths[batch.mask].cpu().numpy()
        return labels
