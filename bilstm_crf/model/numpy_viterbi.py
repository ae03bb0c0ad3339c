"""The best label paths of packed sentences, in numpy.

The recursion is that of Viterbi (1967). Under a label scheme most labels follow only few others,
so for each label only those that may come before it are looked at. Scores are kept and pointers
are not: on the way back the best label before one label per sentence is quickly found again.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.model.numpy_lstm import FloatArray

IntArray = NDArray[np.int64]

_REFRESH = 16
"""Every so many steps the best score is brought back to 0: only differences matter, and single
precision keeps those of small numbers."""


@dataclass(frozen=True)
class TransitionArrays:
    """The transition scores of a CRF; minus infinity where the label scheme forbids something.

    Attributes:
        start: (labels,) score of each first label.
        pairs: (labels, labels), ``[i, j]`` scores i then j.
        end: (labels,) score of each last label.
    """

    start: FloatArray
    pairs: FloatArray
    end: FloatArray


class NumpyViterbi:
    """Finds best paths.

    Args:
        transitions: of the CRF.
    """

    def __init__(self, transitions: TransitionArrays):
        self._transitions = transitions
        pairs = transitions.pairs
        allowed = pairs > -np.inf
        counts = allowed.sum(0)
        # Labels with equally many labels before them are treated at once.
        self._classes: list[tuple[IntArray, IntArray, FloatArray]] = []
        for count in np.unique(counts).tolist():
            labels = np.flatnonzero(counts == count)
            before = np.array([np.flatnonzero(allowed[:, j]) for j in labels], dtype=np.int64).T
            if count:
                self._classes.append((labels, before, pairs[before, labels][:, :, None]))
        self._never = np.flatnonzero(counts == 0)

    def paths(self, emissions: FloatArray, sizes: IntArray, slots: IntArray) -> IntArray:
        """Return the best label of each slot.

        Args:
            emissions: (labels, slots) scores.
            sizes: sentences that take part in each step, falling.
            slots: the slot of each step's first sentence.

        Returns:
            (slots,) label ids; what other slots hold has no meaning.
        """
        best = self._sweep(emissions, sizes, slots)
        return self._trace(best, sizes, slots)

    def _sweep(self, emissions: FloatArray, sizes: IntArray, slots: IntArray) -> FloatArray:
        """Return (labels, slots): the best score of a path to each label at each slot."""
        best = np.empty_like(emissions)
        first, size = int(slots[0]), int(sizes[0])
        here = best[:, first : first + size]
        np.add(emissions[:, first : first + size], self._transitions.start[:, None], out=here)
        for step, (first, size) in enumerate(zip(slots.tolist(), sizes.tolist(), strict=True)):
            if not step:
                continue
            before, here = here[:, :size], best[:, first : first + size]
            if step % _REFRESH == 0:
                before = before - before.max(axis=0)
            for labels, previous, scores in self._classes:
                candidates = before[previous]  # (labels before, labels, sentences)
                candidates += scores
                here[labels] = candidates.max(axis=0)
            here[self._never] = -np.inf
            here += emissions[:, first : first + size]
        return best

    def _trace(self, best: FloatArray, sizes: IntArray, slots: IntArray) -> IntArray:
        """Follow the best labels from the last step back to the first."""
        pairs, end = self._transitions.pairs, self._transitions.end[:, None]
        path = np.zeros(best.shape[1], dtype=np.int64)
        following = 0
        for step in range(len(sizes) - 1, -1, -1):
            first, size = int(slots[step]), int(sizes[step])
            here = best[:, first : first + size]
            # The first sentences go on to the next step, the others end here.
            if following:
                after = int(slots[step + 1])
                behind = pairs[:, path[after : after + following]]
                path[first : first + following] = (here[:, :following] + behind).argmax(axis=0)
            if size > following:
                path[first + following : first + size] = (here[:, following:] + end).argmax(axis=0)
            following = size
        return path
