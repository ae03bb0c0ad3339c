"""A batch that the network in torch has scored, to be asked for labels and probabilities."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bilstm_crf.model.crf import CRF
from bilstm_crf.model.inference import EmissionBatch
from bilstm_crf.model.softmax_head import SoftmaxHead
from bilstm_crf.prediction.answers import IntArray, RankedPaths
from bilstm_crf.prediction.posterior import Distribution, TemperedHead, asked


@dataclass(frozen=True)
class TorchBatch:
    """See :class:`bilstm_crf.prediction.answers.AskedBatch`.

    Attributes:
        scored: the sentences and their emissions.
        tempered: the head, for probabilities.
        head: the same as it was trained, for labels.
    """

    scored: EmissionBatch
    tempered: TemperedHead
    head: CRF | SoftmaxHead

    @property
    def sentences(self) -> IntArray:
        return self.scored.sentences

    @property
    def lengths(self) -> IntArray:
        lengths: IntArray = self.scored.mask.sum(1).cpu().numpy()
        return lengths

    @property
    def tokens(self) -> IntArray:
        return self.scored.tokens

    def label_ids(self) -> IntArray:
        paths = self.head.decode(self.scored.emissions, self.scored.mask)
        found: IntArray = paths[self.scored.mask].cpu().numpy()
        return found

    def chain(self, rows: IntArray | None = None) -> "TorchChain":
        emissions, mask = self.scored.emissions, self.scored.mask
        if rows is not None:
            some = torch.from_numpy(rows).to(mask.device)
            emissions, mask = emissions[some], mask[some]
        return TorchChain(self.tempered.distribution(emissions, mask), mask)

    def k_best(self, k: int) -> list[RankedPaths]:
        return self.tempered.k_best(self.scored.emissions, self.scored.mask, k)


@dataclass(frozen=True)
class TorchChain:
    """See :class:`bilstm_crf.prediction.answers.Chain`."""

    distribution: Distribution
    mask: Tensor

    def marginals(self) -> NDArray[np.floating]:
        marginals: NDArray[np.floating] = self.distribution.marginals()[self.mask].cpu().numpy()
        return marginals

    def span_probability(
        self, sentences: IntArray, starts: IntArray, allowed: NDArray[np.bool_], /
    ) -> NDArray[np.floating]:
        return asked(self.distribution, self.mask.device)(sentences, starts, allowed)
