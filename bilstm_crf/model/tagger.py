"""The network: the emissions of one member or several, and the CRF over them."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor, nn

from bilstm_crf.corpus.batches import Batch
from bilstm_crf.model.crf import CRF
from bilstm_crf.model.emitter import Emitter
from bilstm_crf.model.layout import look_up
from bilstm_crf.model.model_section import DropoutSection, ModelSection, TableSizes
from bilstm_crf.model.softmax_head import SoftmaxHead

__all__ = ["DropoutSection", "ModelSection", "TableSizes", "TaggerNetwork"]

States = list[Float[Tensor, "batch time states"]]
"""The BiLSTM's output of each member."""


class TaggerNetwork(Emitter):
    """From a batch to emissions, and from there to a loss or to label paths.

    Of several members this one is the first. Each learns by itself, under the common CRF; their
    averaged emissions make a logarithmic opinion pool (Smith, Cohn and Osborne 2005, section 3,
    https://aclanthology.org/P05-1003).

    Args:
        section: the settings of all parts.
        sizes: rows of the tables.
    """

    def __init__(self, section: ModelSection, sizes: TableSizes):
        super().__init__(section, sizes)
        self.head: CRF | SoftmaxHead = CRF(sizes.labels) if section.head == "crf" else SoftmaxHead()
        self.others = nn.ModuleList()
        for _ in range(section.members - 1):
            other = Emitter(section, sizes)
            other.word_embeddings.share_stored(self.word_embeddings)
            self.others.append(other)

    @property
    def members(self) -> list[Emitter]:
        """All emitters, this one first."""
        return [self, *(other for other in self.others if isinstance(other, Emitter))]

    @property
    def form_size(self) -> int:
        """Size of the vectors of a word form, those of all members side by side."""
        return self.vector_size * len(self.members)

    def encode_forms(self, batch: Batch) -> Float[Tensor, "forms size"]:
        """Return the vectors of each distinct word form; they do not depend on the sentence."""
        if not self.others:
            return self.form_vectors(batch)
        return torch.cat([member.form_vectors(batch) for member in self.members], dim=1)

    def states(self, batch: Batch) -> States:
        """Return the BiLSTM's output for each token, of each member."""
        return [
            member.read(member.form_vectors(batch), batch.index, batch.lengths, batch.columns)
            for member in self.members
        ]

    def emissions(self, batch: Batch) -> Float[Tensor, "batch time labels"]:
        """Return the score of each label for each token, in float32."""
        return _mean(self._scores_of(self.states(batch)))

    def token_emissions(
        self,
        forms: Float[Tensor, "forms size"],
        index: Int[Tensor, "batch time"],
        lengths: Int64[Tensor, " batch"],
        columns: Mapping[str, Tensor],
    ) -> Float[Tensor, "batch time labels"]:
        """Return the score of each label for each token, in float32.

        Args:
            forms: vectors of word forms, from :meth:`encode_forms`.
            index: which of them each token is.
            lengths: tokens of each sentence.
            columns: value ids of the extra columns by name, each (batch, time).
        """
        vectors = torch.split(forms, self.vector_size, 1) if self.others else [forms]
        states = [
            member.read(own, index, lengths, columns)
            for member, own in zip(self.members, vectors, strict=True)
        ]
        return _mean(self._scores_of(states))

    def _scores_of(self, states: States) -> list[Tensor]:
        return [member.score(one) for member, one in zip(self.members, states, strict=True)]

    def loss(self, batch: Batch, states: States | None = None) -> Float[Tensor, "sentences"]:
        """Return each sentence's loss: minus the log likelihood of its labels, and the CRF's costs.

        The CRF scores each sentence by itself, also where the BiLSTM has read several at once. Of
        several members it is the mean, each with its own emissions: so they stay different.

        Args:
            batch: sentences with labels.
            states: their :meth:`states`, where the caller has them.

        Raises:
            ValueError: the batch carries no labels.
        """
        if batch.labels is None:
            raise ValueError("a loss needs a batch with labels")
        losses = []
        for scores in self._scores_of(self.states(batch) if states is None else states):
            if batch.places is not None:
                scores = look_up(batch.places, scores.flatten(0, 1))
            losses.append(self.head.loss(scores, batch.labels, batch.sentence_mask))
        return _mean(losses)

    def decode(self, batch: Batch) -> Int64[Tensor, "batch time"]:
        """Return the labels of each sentence, 0 in the padding."""
        return self.head.decode(self.emissions(batch), batch.mask)


def _mean(values: Sequence[Tensor]) -> Tensor:
    return values[0] if len(values) == 1 else torch.stack(list(values)).mean(0)
