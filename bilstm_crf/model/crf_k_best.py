"""The k best label paths of each sentence.

Viterbi's recursion with the k best scores per state in place of the best one (Seshadri and
Sundberg 1994, "List Viterbi decoding algorithms with applications").
"""

import torch
from jaxtyping import Float, Int64
from torch import Tensor

from bilstm_crf.model.crf_lattice import Lattice


def k_best_paths(
    lattice: Lattice, k: int
) -> tuple[Int64[Tensor, "batch k time"], Float[Tensor, "batch k"]]:
    """Return the k best paths of each sentence, best first, and their scores.

    Where a sentence has fewer than k allowed paths the rest have score minus infinity and mean
    nothing. In the padding a path holds the boundary's state.
    """
    scores, pairs = lattice.scores().transpose(1, 2), lattice.pairs
    steps, batch, states = scores.shape
    best = scores.new_full((batch, states, k), -torch.inf)
    best[:, :, 0] = scores[0]
    pointers = []
    for own in scores[1:]:
        # From state and rank, flat, to state: (batch, from * k, to).
        candidates = (best[:, :, :, None] + pairs[:, None]).flatten(1, 2)
        best, pointer = candidates.topk(k, dim=1)
        best = best.transpose(1, 2) + own[:, :, None]
        pointers.append(pointer.transpose(1, 2).flatten(1))  # (batch, states * k)
    # A path stands in the boundary at the end; at is state * k + rank.
    at = torch.arange(k, device=best.device).add(lattice.boundary * k).expand(batch, k)
    path = []
    for pointer in reversed(pointers):
        path.append(at)
        at = pointer.gather(1, at)
    path.reverse()
    inner = torch.stack(path[:-1], 2) if steps > 2 else at.new_empty(batch, k, 0)
    return inner // k, best[:, lattice.boundary]
