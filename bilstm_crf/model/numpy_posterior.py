"""The distribution over the label paths of packed sentences, in numpy, and questions to it.

The recursions are those of :mod:`bilstm_crf.model.crf_messages`, kept as logs in double precision:
``ahead`` of what comes up to a slot and ``behind`` of what comes after it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.model.numpy_lstm import FloatArray
from bilstm_crf.model.numpy_viterbi import IntArray, TransitionArrays
from bilstm_crf.model.packing import Packing

Doubles = NDArray[np.float64]

_SAFE = 300.0
"""Logs of weights that differ by less than this can be added up as weights: exp(-2 x 300) is still
a normal double, so nothing is lost."""

_MOST_AT_ONCE = 2**20
"""Numbers in a table where logs are added up one by one."""


class _Step:
    """From the log weights of labels to those of the labels that follow them.

    Args:
        pairs: (labels, labels) log weight of i followed by j; minus infinity where forbidden.
    """

    def __init__(self, pairs: Doubles):
        self._pairs = pairs
        known = np.abs(pairs[np.isfinite(pairs)])
        self._weights = np.exp(pairs) if known.max(initial=0.0) < _SAFE else None

    def __call__(self, logs: Doubles) -> Doubles:
        """Return log sum over i of exp(logs[:, i] + pairs[i, j])."""
        top = _finite(logs.max(axis=1, keepdims=True))
        logs = logs - top
        known = np.where(logs == -np.inf, 0.0, logs)
        if self._weights is not None and known.min(initial=0.0) > -_SAFE:
            with np.errstate(divide="ignore"):
                sums: Doubles = np.log(np.exp(logs) @ self._weights)
        else:
            sums = np.empty_like(logs)
            rows = max(1, _MOST_AT_ONCE // self._pairs.size)
            for first in range(0, len(logs), rows):
                some = logs[first : first + rows, :, None] + self._pairs
                sums[first : first + rows] = log_sum_exp(some, axis=1)
        return sums + top


def log_sum_exp(logs: Doubles, axis: int) -> Doubles:
    """Return the log of the sum of exp(logs) along an axis; minus infinity if all are."""
    top = _finite(logs.max(axis=axis, keepdims=True))
    with np.errstate(divide="ignore"):
        sums: Doubles = np.log(np.exp(logs - top).sum(axis=axis))
    return sums + top.squeeze(axis)


def _finite(tops: Doubles) -> Doubles:
    """Return the largest logs, or 0 where there is nothing but minus infinity."""
    return np.where(tops == -np.inf, 0.0, tops)


@dataclass(frozen=True)
class PackedDistribution:
    """The label paths of a batch as a Markov chain.

    Attributes:
        packing: the batch.
        scores: (slots, labels) log weight of each label at each slot.
        ahead: (slots, labels) log of the summed weights of the path beginnings up to a label.
        behind: (slots, labels) log of the summed weights of the path endings behind it.
        log_partition: (batch,) log of the summed weights of all paths.
        pairs: (labels, labels) log weight of one label followed by another.
    """

    packing: Packing
    scores: Doubles
    ahead: Doubles
    behind: Doubles
    log_partition: Doubles
    pairs: Doubles

    def marginals(self) -> Doubles:
        """Return (slots, labels): the probability of each label at each slot's token."""
        logs = self.ahead + self.behind - self.log_partition[self.packing.rows, None]
        return np.minimum(np.exp(logs), 1.0)

    def states(self) -> Doubles:
        """Return (time, batch, labels): :meth:`marginals` by sentence, 0 in the padding."""
        by_token = self.marginals()[self.packing.padded.T]
        by_token[~self.packing.mask.T] = 0.0
        return by_token

    def following(self, before: Sequence[int], behind: Sequence[int]) -> Doubles:
        """Return (time, batch, pairs): how probable one label is followed by another, given it.

        Args:
            before: labels.
            behind: for each of them one that may come next; 0 at the last token.
        """
        slots, mask = self.packing.padded, self.packing.mask
        arriving = (self.scores + self.behind)[:, behind]
        leaving = _finite(self.behind)[:, before]
        logs = arriving[slots[:, 1:]] + self.pairs[before, behind] - leaving[slots[:, :-1]]
        logs[~mask[:, 1:]] = -np.inf
        found = np.zeros((slots.shape[1], len(slots), len(before)))
        found[:-1] = np.exp(logs).transpose(1, 0, 2)
        return found

    def span_probability(
        self, sentences: IntArray, starts: IntArray, allowed: NDArray[np.bool_]
    ) -> Doubles:
        """Return (spans,): the probability that every label of a span is an allowed one.

        The forward recursion restricted to what is allowed, as in
        :meth:`bilstm_crf.model.crf_posterior.PathDistribution.span_probability`.

        Args:
            sentences: each span's sentence in the batch.
            starts: its first token.
            allowed: (spans, positions, labels) its labels, token by token; all True at positions
                behind the span. Behind the sentence's end nothing is restricted.
        """
        lengths, slots = self.packing.lengths[sentences], self.packing.padded
        step = _Step(self.pairs)
        at = slots[sentences, starts]
        logs = np.where(allowed[:, 0], self.ahead[at], -np.inf)
        for position in range(1, allowed.shape[1]):
            inside = starts + position < lengths
            here = slots[sentences, np.minimum(starts + position, lengths - 1)]
            arriving = np.where(allowed[:, position], step(logs) + self.scores[here], -np.inf)
            logs = np.where(inside[:, None], arriving, logs)
            at = np.where(inside, here, at)
        whole = log_sum_exp(logs + self.behind[at], axis=1) - self.log_partition[sentences]
        return np.minimum(np.exp(whole), 1.0)


def path_distribution(
    scores: FloatArray, packing: Packing, transitions: TransitionArrays, temperature: float = 1.0
) -> PackedDistribution:
    """Return the distribution of a CRF.

    Args:
        scores: (slots, labels) emissions.
        packing: the batch.
        transitions: of the CRF.
        temperature: all scores are divided by it.
    """
    own = scores.astype(np.float64) / temperature
    start, pairs, end = (
        part.astype(np.float64) / temperature
        for part in (transitions.start, transitions.pairs, transitions.end)
    )
    sizes, firsts = packing.mask.sum(0).tolist(), packing.padded[0].tolist()
    ahead, behind = np.full_like(own, -np.inf), np.full_like(own, -np.inf)
    forward, backward = _Step(pairs), _Step(pairs.T)
    blocks = [slice(first, first + size) for first, size in zip(firsts, sizes, strict=True)]
    ahead[blocks[0]] = start + own[blocks[0]]
    for before, block, size in zip(blocks[:-1], blocks[1:], sizes[1:], strict=True):
        ahead[block] = forward(ahead[before][:size]) + own[block]
    following = 0
    for step in range(len(blocks) - 1, -1, -1):
        here = behind[blocks[step]]
        if following:
            after = blocks[step + 1]
            here[:following] = backward(behind[after] + own[after])
        here[following:] = end
        following = sizes[step]
    log_partition = log_sum_exp(ahead[blocks[0]] + behind[blocks[0]], axis=1)
    return PackedDistribution(packing, own, ahead, behind, log_partition, pairs)


def softmax(scores: FloatArray, packing: Packing, temperature: float = 1.0) -> PackedDistribution:
    """Return the distribution of labels that do not depend on each other.

    Args:
        scores: (slots, labels) emissions.
        packing: the batch.
        temperature: all scores are divided by it.
    """
    free = np.zeros(scores.shape[1], dtype=np.float32)
    nothing = TransitionArrays(free, np.zeros((len(free), len(free)), dtype=np.float32), free)
    return path_distribution(scores, packing, nothing, temperature)
