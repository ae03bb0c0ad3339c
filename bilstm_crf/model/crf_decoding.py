"""The best label path of each sentence.

The recursion is that of Viterbi (1967): the best score of a path that ends in state j is the
best over i of that of a path ending in i plus the score of i followed by j. It runs from both
ends to the middle at once, which halves the number of steps, and keeps scores only: on the way
back the best predecessor of one state per sentence is quickly found again.

For numpy and torch in one code see :mod:`bilstm_crf.model.crf_arrays`.
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from bilstm_crf.model.crf_arrays import Array, as_tensor, native
from bilstm_crf.model.crf_lattice import Lattice

LARGE_STEP = 6000
"""Above this many candidates per step torch's kernels beat numpy's on a CPU (measured)."""


def best_paths(
    lattice: Lattice,
) -> tuple[Int64[Tensor, "batch time"], Float[Tensor, " batch"]]:
    """Return the best path of each sentence and its score.

    In the padding a path holds 0. Where no path is allowed the score is minus infinity and the
    path means nothing.
    """
    xp, (scores, pairs) = native(lattice.scores(), lattice.pairs)
    path, score = _best(xp, scores, pairs)
    return as_tensor(path).T, as_tensor(score)


def _best(xp: Any, scores: Array, pairs: Array) -> tuple[Array, Array]:
    """Return paths (time, batch) and their scores, by the functions of module ``xp``.

    Args:
        xp: the module of the arrays.
        scores: of the states at each step (steps, states, batch).
        pairs: of state i followed by state j (states, states).
    """
    steps = len(scores)
    if steps % 2:  # two halves of the same length; staying in the boundary is free
        scores = xp.concatenate([scores, scores[-1:]])
    half = len(scores) // 2
    # Step k of the halves: k steps from the first, and k steps back from the last.
    own = xp.empty_like(scores).reshape(half, 2, *scores.shape[1:])
    own[:, 0], own[:, 1] = scores[:half], xp.flip(scores[half:], (0,))
    both = xp.stack([pairs, pairs.T])  # (2, from, to)
    best = _sweep(xp, own, both[:, :, :, None])  # (half, 2, states, batch)
    # The halves meet between their last steps: (from * to, batch).
    meeting = best[-1, 0, :, None] + pairs[:, :, None] + best[-1, 1]
    meeting = meeting.reshape(len(pairs) ** 2, meeting.shape[2])
    index = xp.argmax(meeting, 0)
    states = _trace(xp, best, both, index // len(pairs), index % len(pairs))
    path = xp.concatenate([states[:, 0], xp.flip(states[:, 1], (0,))])[1 : steps - 1]
    boundary = len(pairs) - 1
    return xp.where(path == boundary, 0, path), xp.amax(meeting, 0)


def _sweep(xp: Any, own: Array, pairs: Array) -> Array:
    """Return the best score of the paths from each end that reach a state at a step.

    Args:
        xp: the module of the arrays.
        own: scores of the states at each step (half, 2, states, batch).
        pairs: scores of the pairs in both directions (2, from, to, 1).
    """
    best = xp.empty_like(own)
    best[0] = own[0]
    candidates = best[0, :, :, None] + pairs  # (2, from, to, batch)
    add, largest = xp.add, xp.amax
    arrays: tuple[Any, ...] = (best, own, pairs, candidates)
    if xp is np:
        largest = np.maximum.reduce
        if candidates.size > LARGE_STEP:
            add, largest = torch.add, torch.amax
            arrays = tuple(map(torch.from_numpy, arrays))
    reached, own, pairs, candidates = arrays
    for step in range(1, len(reached)):
        here = reached[step]
        add(reached[step - 1][:, :, None], pairs, out=candidates)
        largest(candidates, 1, out=here)
        add(here, own[step], out=here)
    return best


def _trace(xp: Any, best: Array, both: Array, first: Array, second: Array) -> Array:
    """Follow the best predecessors from the last step of each half back to its first.

    Returns:
        The states at each step (half, 2, batch).
    """
    half, _, states, batch = best.shape
    reached = xp.swapaxes(best, 2, 3).reshape(half, 2 * batch, states)
    # A row for each half and state that is reached, then the states it is reached from.
    into = xp.swapaxes(both, 1, 2).reshape(2 * states, states)
    at = xp.concatenate([first, second + states])
    rows = xp.empty_like(reached[:, :, 0], dtype=at.dtype)
    rows[-1] = at
    second_half = xp.zeros_like(at)
    second_half[batch:] = states
    for step in range(half - 1, 0, -1):
        candidates = into.take(at, 0) if xp is np else into[at]  # the same, but faster
        at = (candidates + reached[step - 1]).argmax(1) + second_half
        rows[step - 1] = at
    return (rows - second_half).reshape(half, 2, batch)
