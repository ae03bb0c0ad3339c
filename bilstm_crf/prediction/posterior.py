"""How probable predictions are: exact posteriors of entities, labels and whole label paths."""

import copy
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from bilstm_crf.model.crf import CRF
from bilstm_crf.model.softmax_head import SoftmaxHead
from bilstm_crf.prediction.entity_patterns import SpanProbability


class Distribution(Protocol):
    """What can be asked of the label paths of a batch."""

    def marginals(self) -> Float[Tensor, "batch time labels"]:
        """Return the probability of each label at each token."""

    def span_probability(
        self,
        sentences: Int[Tensor, " spans"],
        starts: Int[Tensor, " spans"],
        allowed: Bool[Tensor, "spans positions labels"],
    ) -> Float[Tensor, " spans"]:
        """Return the probability that every label from a start on is an allowed one."""


class TemperedHead:
    """The head of a network, asked for probabilities at a temperature.

    All scores are divided by the temperature. That leaves the best path as it is, and makes
    probabilities less extreme where the temperature is above 1 (Guo et al. 2017, "On calibration of
    modern neural networks", section 4.2, https://arxiv.org/abs/1706.04599).

    Args:
        head: left as it is.
        temperature: above 0.
    """

    def __init__(self, head: CRF | SoftmaxHead, temperature: float):
        if temperature <= 0:
            raise ValueError(f"a temperature must be above 0, got {temperature}")
        self.temperature = temperature
        self.head = copy.deepcopy(head)
        with torch.no_grad():
            for parameter in self.head.parameters():
                parameter.div_(temperature)

    def distribution(
        self, emissions: Float[Tensor, "batch time labels"], mask: Bool[Tensor, "batch time"]
    ) -> Distribution:
        """Return the distribution over label paths."""
        tempered = emissions / self.temperature
        if isinstance(self.head, CRF):
            return self.head.distribution(tempered, mask)
        return _IndependentLabels(self.head.marginals(tempered, mask))

    def k_best(
        self,
        emissions: Float[Tensor, "batch time labels"],
        mask: Bool[Tensor, "batch time"],
        k: int,
    ) -> list[list[tuple[list[int], float]]]:
        """Return, for each sentence, its k best label paths and their probabilities, best first.

        Raises:
            ValueError: the head scores each token by itself.
        """
        if not isinstance(self.head, CRF):
            raise ValueError("the k best label paths need a CRF")
        tempered = emissions / self.temperature
        paths, scores = self.head.k_best(tempered, k, mask)
        total = self.head.distribution(tempered, mask).log_partition
        probabilities = (scores.double() - total[:, None].double()).exp().clamp(max=1.0).tolist()
        return [
            list(zip(ranked, values, strict=False))
            for ranked, values in zip(paths, probabilities, strict=True)
        ]


@dataclass(frozen=True)
class _IndependentLabels:
    """Tokens whose labels do not depend on each other."""

    labels: Float[Tensor, "batch time labels"]

    def marginals(self) -> Float[Tensor, "batch time labels"]:
        return self.labels

    def span_probability(
        self,
        sentences: Int[Tensor, " spans"],
        starts: Int[Tensor, " spans"],
        allowed: Bool[Tensor, "spans positions labels"],
    ) -> Float[Tensor, " spans"]:
        time = self.labels.shape[1]
        steps = starts[:, None] + torch.arange(allowed.shape[1], device=starts.device)
        values = self.labels[sentences[:, None], steps.clamp(max=time - 1)]
        tokens = (values * allowed).sum(2)  # (spans, positions)
        restricts = ~allowed.all(2) & (steps < time)
        # The padding behind a sentence has no labels and restricts nothing.
        restricts &= values.sum(2) > 0
        return torch.where(restricts, tokens, 1.0).prod(1)


def asked(distribution: Distribution, device: torch.device) -> SpanProbability:
    """Return how a distribution is asked for the probabilities of spans, in numpy.

    Args:
        distribution: of a batch.
        device: where it is.
    """

    def span_probability(
        sentences: NDArray[np.int64], starts: NDArray[np.int64], allowed: NDArray[np.bool_]
    ) -> NDArray[np.floating]:
        arguments = (torch.from_numpy(part).to(device) for part in (sentences, starts, allowed))
        values: NDArray[np.floating] = distribution.span_probability(*arguments).cpu().numpy()
        return values

    return span_probability
