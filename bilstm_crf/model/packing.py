"""Sentences of falling length side by side, step by step, almost without padding.

At step t only the sentences that are longer than t take part. Since they are sorted by falling
length, these are the first ones, and their tokens at step t form one block of *slots*: step by
step, and within a step sentence by sentence.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MIN_ROWS = 4
"""Slots of a step at least. Matrix products of fewer rows take other kernels, whose sums round
differently; with as many rows a sentence gets the same numbers in whatever batch it is."""

IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Packing:
    """Where the tokens of a batch stand in the slots.

    Attributes:
        sizes: slots of each step.
        steps: (slots,) position of each slot's token in its sentence. A slot too many repeats
            the last token of a sentence.
        rows: (slots,) sentence of each slot, counted in the batch.
        reverse: (slots,) slot of the token at the same distance from the other end.
        padded: (batch, time) slot of each token; in the padding 0.
        mask: (batch, time) True at tokens.
        token_slots: (tokens,) the slots that are not too many, in their order.
    """

    sizes: IntArray
    steps: IntArray
    rows: IntArray
    reverse: IntArray
    padded: IntArray
    mask: NDArray[np.bool_]
    token_slots: IntArray

    @property
    def num_slots(self) -> int:
        return len(self.steps)

    @property
    def lengths(self) -> IntArray:
        """Tokens of each sentence of the batch."""
        lengths: IntArray = self.mask.sum(1)
        return lengths

    @property
    def slots_by_sentence(self) -> IntArray:
        """Slot of each token, sentence by sentence."""
        return self.padded[self.mask]


def pack(lengths: IntArray) -> Packing:
    """Lay out one or more sentences whose lengths fall, none of them empty.

    Raises:
        ValueError: the lengths do not fall, one is 0, or there is none.
    """
    if not len(lengths) or np.any(np.diff(lengths) > 0) or lengths[-1] < 1:
        raise ValueError("packing needs sentences of falling length, none of them empty")
    # The first few go on to the end of the longest; if they are too few, the last one is repeated.
    run = np.concatenate([lengths, np.repeat(lengths[-1:], max(0, MIN_ROWS - len(lengths)))])
    own = run.copy()
    run[:MIN_ROWS] = run[0]
    time = np.arange(run[0])
    inside = time[:, None] < run  # (time, batch)
    sizes = inside.sum(1)
    before = np.cumsum(sizes) - sizes  # slots before each step
    steps, columns = np.nonzero(inside)
    past_end = steps >= own[columns]
    backwards = own[columns] - 1 - steps
    reverse = np.where(past_end, np.arange(len(steps)), before[backwards] + columns)
    mask = time < lengths[:, None]
    padded = before + np.arange(len(lengths))[:, None]
    return Packing(
        sizes=sizes,
        steps=np.minimum(steps, own[columns] - 1),
        rows=np.minimum(columns, len(lengths) - 1),
        reverse=reverse,
        padded=np.where(mask, padded, 0),
        mask=mask,
        token_slots=np.flatnonzero(~past_end & (columns < len(lengths))),
    )
