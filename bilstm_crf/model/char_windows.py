"""Windows of characters without padding: their scores summed from a table, their maximum pooled.

A batch holds one web address of forty characters and three hundred words of five: in a padded
matrix four of five positions are empty. Here the windows stand by position instead: those at the
first character of every form, longest form first, then those at the second character, and so on.
The forms that still have a character at some position are then the first so many of all, and
pooling walks over the positions without looking anything up.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F


@dataclass(frozen=True)
class CharWindows:
    """Where the characters of a batch's forms stand.

    Attributes:
        chars: character of each place of each window; 0 beyond a form's ends.
        forms: the form that each window belongs to, counted by falling length.
        order: for each form its place by falling length.
        counts: forms that have a character at the first position, the second, and so on.
    """

    chars: Int64[Tensor, "windows width"]
    forms: Int64[Tensor, "windows"]
    order: Int64[Tensor, "forms"]
    counts: list[int]


def lay_out_windows(chars: Int64[Tensor, "forms chars"], width: int) -> CharWindows:
    """Return the windows centred on each character of some forms.

    Args:
        chars: 0 behind the end of a form and only there.
        width: characters of a window.
    """
    present = chars != 0
    by_length = present.sum(1).argsort(descending=True)
    positions, forms = present[by_length].t().nonzero(as_tuple=True)
    left = (width - 1) // 2
    padded = F.pad(chars[by_length], (left, width - 1 - left))
    return CharWindows(
        chars=padded.unfold(1, width, 1)[forms, positions],
        forms=forms,
        order=torch.empty_like(by_length).scatter_(
            0, by_length, torch.arange(len(chars), device=chars.device)
        ),
        counts=positions.bincount().tolist(),
    )


def pooled_window_sums(
    added: Float[Tensor, "rows width filters"],
    rows: Int64[Tensor, "windows width"],
    windows: CharWindows,
) -> Float[Tensor, "forms filters"]:
    """Return the maximum over each form's windows of the summed rows of their characters.

    On the CPU only; :class:`bilstm_crf.model.char_encoders.CharCNN` convolves elsewhere.

    Args:
        added: what a character adds to the filters at each place of a window.
        rows: row of each window's characters in ``added``.
        windows: where the windows stand.

    Returns:
        One row a form, in the order in which the forms were laid out; 0 for a form without
        characters.
    """
    best: Tensor = _PooledWindowSums.apply(added, rows, windows)  # type: ignore[no-untyped-call]
    return F.embedding(windows.order, best)


class _PooledWindowSums(torch.autograd.Function):
    """The maxima, by falling length of the forms; equal maxima share the gradient."""

    @staticmethod
    def forward(ctx: Any, added: Tensor, rows: Tensor, windows: CharWindows) -> Tensor:
        num_rows, width, filters = added.shape
        flat = rows * width + torch.arange(width, device=rows.device)
        scores = F.embedding_bag(flat, added.reshape(num_rows * width, filters), mode="sum")
        best = scores.new_zeros(len(windows.order), filters)
        # So many small steps are faster in numpy.
        pooled, of_positions = best.numpy(), scores.numpy()
        begin = 0
        for count in windows.counts:
            here = of_positions[begin : begin + count]
            if begin:
                np.maximum(pooled[:count], here, out=pooled[:count])
            else:
                pooled[:count] = here
            begin += count
        ctx.save_for_backward(rows, windows.forms, scores, best)
        ctx.shape = added.shape
        return best

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        rows, forms, scores, best = ctx.saved_tensors
        num_rows, width, filters = ctx.shape
        # A comparison that writes numbers is ten times as fast as one that is converted to them.
        reached = torch.eq(scores, F.embedding(forms, best), out=torch.empty_like(scores))
        times = torch.zeros_like(best).index_add_(0, forms, reached)
        share = F.embedding(forms, gradient / times.clamp_(min=1)).mul_(reached)
        added = share.new_zeros(width, num_rows, filters)
        for place, there in enumerate(rows.t().contiguous()):
            added[place].index_add_(0, there, share)
        return added.transpose(0, 1), None, None
