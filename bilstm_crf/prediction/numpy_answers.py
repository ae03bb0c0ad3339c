"""A batch that the network in numpy has scored, to be asked for labels and probabilities."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.model.numpy_head import NumpyHead
from bilstm_crf.model.numpy_network import PackedEmissions
from bilstm_crf.model.numpy_posterior import PackedDistribution
from bilstm_crf.prediction.answers import IntArray, RankedPaths


@dataclass(frozen=True)
class NumpyBatch:
    """See :class:`bilstm_crf.prediction.answers.AskedBatch`; knows no k best paths.

    Attributes:
        scored: the sentences and their emissions.
        head: the network's.
        temperature: divisor of all scores before probabilities.
    """

    scored: PackedEmissions
    head: NumpyHead
    temperature: float

    @property
    def sentences(self) -> IntArray:
        return self.scored.sentences

    @property
    def lengths(self) -> IntArray:
        return self.scored.packing.lengths

    @property
    def tokens(self) -> IntArray:
        return self.scored.places[self.scored.packing.slots_by_sentence]

    def label_ids(self) -> IntArray:
        scored = self.scored
        labels = self.head.decode(scored.scores, scored.packing)
        return labels[scored.packing.slots_by_sentence]

    def chain(self, rows: IntArray | None = None) -> "NumpyChain":
        scored = self.scored if rows is None else self.scored.of(rows)
        return NumpyChain(self.head.distribution(scored.scores, scored.packing, self.temperature))

    def k_best(self, k: int) -> list[RankedPaths]:
        raise ValueError("the k best label paths need the network in torch")


@dataclass(frozen=True)
class NumpyChain:
    """See :class:`bilstm_crf.prediction.answers.Chain`."""

    distribution: PackedDistribution

    def marginals(self) -> NDArray[np.floating]:
        return self.distribution.marginals()[self.distribution.packing.slots_by_sentence]

    def span_probability(
        self, sentences: IntArray, starts: IntArray, allowed: NDArray[np.bool_], /
    ) -> NDArray[np.floating]:
        return self.distribution.span_probability(sentences, starts, allowed)
