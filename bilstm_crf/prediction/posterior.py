"""How probable predictions are: exact posteriors of entities, labels and whole label paths."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from bilstm_crf.corpus.labels import SCHEMES, split_label
from bilstm_crf.corpus.sentence import Span
from bilstm_crf.model.crf import CRF
from bilstm_crf.model.softmax_head import SoftmaxHead


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


class EntityPatterns:
    """The label sequences that make up an entity, as the distribution wants them.

    An entity is taken as its scheme writes it; the probability of a malformed way to write it is
    not counted. In IOB1 and IO, whether an entity begins depends on the label before, which is
    then part of the pattern.

    Args:
        labels: the model's labels.
        scheme: their scheme.
    """

    def __init__(self, labels: Sequence[str], scheme: str):
        self._row = SCHEMES[scheme]
        self._parts = [split_label(label) for label in labels]

    def _labels(self, prefixes: frozenset[str] | set[str], entity_type: str) -> list[bool]:
        return [prefix in prefixes and kind == entity_type for prefix, kind in self._parts]

    def patterns(self, span: Span) -> list[tuple[int, list[list[bool]]]]:
        """Return the first position and the allowed labels from there on, for each way to write it.

        The ways exclude each other, so their probabilities add up. Position -1 is not in the
        sentence; a way that begins there is left out.
        """
        row, kind, length = self._row, span.type, span.end - span.start
        inner = [self._labels({row.inside}, kind)] * (length - 2)
        last = [self._labels({row.last}, kind)] if length > 1 else []
        goes_on = self._labels(row.continuing, kind)
        behind = [not one for one in goes_on]
        first = self._labels({row.single if length == 1 else row.first}, kind)
        if row.starting.isdisjoint(row.continuing):
            return [(span.start, [first, *inner, *last, behind])]
        of_type = [other == kind for _, other in self._parts]
        ways = [(span.start - 1, [[not one for one in of_type], first, *inner, *last, behind])]
        if row.adjacent:
            marked = self._labels({row.adjacent}, kind)
            ways.append((span.start - 1, [of_type, marked, *inner, *last, behind]))
        if span.start == 0:
            ways = [(0, [first, *inner, *last, behind])]
        return ways

    def probabilities(
        self, distribution: Distribution, spans: Sequence[tuple[int, Span]], device: torch.device
    ) -> list[float]:
        """Return the exact probability of entities.

        Args:
            distribution: of a batch.
            spans: row of the batch and entity, counted in tokens of its sentence.
            device: of the distribution.
        """
        ways = [
            (number, row, start, allowed)
            for number, (row, span) in enumerate(spans)
            for start, allowed in self.patterns(span)
        ]
        totals = [0.0] * len(spans)
        # Spans of similar length together, so that one long entity does not pad the others.
        ways.sort(key=lambda way: len(way[3]))
        for first in range(0, len(ways), 256):
            some = ways[first : first + 256]
            longest = len(some[-1][3])
            free = [True] * len(self._parts)
            allowed = torch.tensor([way + [free] * (longest - len(way)) for *_, way in some])
            values = distribution.span_probability(
                torch.tensor([row for _, row, _, _ in some], device=device),
                torch.tensor([start for _, _, start, _ in some], device=device),
                allowed.to(device),
            )
            for (number, *_), value in zip(some, values.tolist(), strict=True):
                totals[number] += value
        return [min(1.0, max(0.0, total)) for total in totals]
