"""What callers of the CRF hand over: shapes checked, lengths and label gaps turned into masks."""

from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Emissions = Float[Tensor, "batch time labels"]
Mask = Bool[Tensor, "batch time"] | Int[Tensor, " batch"] | None
"""Which tokens are real: True at real tokens, or the sentences' lengths, or None for all."""
Allowed = Bool[Tensor, "batch time labels"] | None
"""Which labels each token may have; None for all of them."""
Reduction = Literal["none", "sum", "mean", "token_mean"]


def allowed_labels(
    labels: Int[Tensor, "batch time"], num_labels: int, *, unknown: int = -1
) -> Bool[Tensor, "batch time labels"]:
    """Return which labels are allowed where some are fixed: the fixed one, or all at gaps.

    Args:
        labels: a label at fixed tokens, ``unknown`` at the others.
        num_labels: number of labels.
        unknown: what marks a gap.
    """
    every = torch.arange(num_labels, device=labels.device)
    return (labels[:, :, None] == every) | (labels[:, :, None] == unknown)


def checked_mask(
    emissions: Emissions,
    mask: Mask,
    num_labels: int,
    *,
    labels: Int[Tensor, "batch time"] | None = None,
    allowed: Allowed = None,
) -> Bool[Tensor, "batch time"] | None:
    """Check that all shapes fit together, and return the mask as one boolean per token.

    Raises:
        ValueError: a shape or type is wrong, a length is negative or too large, or the mask has
            a gap (seen on a CPU only: looking would make a GPU wait).
    """
    if emissions.dim() != 3 or emissions.shape[2] != num_labels:
        expected = f"(batch, time, {num_labels})"
        raise ValueError(f"emissions: expected shape {expected}, got {tuple(emissions.shape)}")
    if not emissions.is_floating_point():
        raise ValueError(f"emissions: expected a floating type, got {emissions.dtype}")
    shape = emissions.shape[:2]
    if labels is not None and labels.shape != shape:
        raise ValueError(f"labels: expected shape {tuple(shape)}, got {tuple(labels.shape)}")
    if allowed is not None and allowed.shape != emissions.shape:
        expected = str(tuple(emissions.shape))
        raise ValueError(f"allowed: expected shape {expected}, got {tuple(allowed.shape)}")
    if mask is None:
        return None
    if mask.dtype != torch.bool:
        return _mask_of_lengths(mask, shape)
    if mask.shape != shape:
        raise ValueError(f"mask: expected shape {tuple(shape)}, got {tuple(mask.shape)}")
    if mask.device.type == "cpu":
        real = mask.numpy()
        if (real[:, 1:] > real[:, :-1]).any():
            raise ValueError("mask: a real token follows padding; padding must come last")
    return mask


def _mask_of_lengths(
    lengths: Int[Tensor, " batch"], shape: torch.Size
) -> Bool[Tensor, "batch time"]:
    if lengths.shape != shape[:1] or lengths.is_floating_point():
        raise ValueError(
            f"mask: expected booleans of shape {tuple(shape)} or lengths of shape "
            f"{tuple(shape[:1])}, got {lengths.dtype} of shape {tuple(lengths.shape)}"
        )
    if lengths.device.type == "cpu" and bool(((lengths < 0) | (lengths > shape[1])).any()):
        raise ValueError(f"lengths: expected 0 to {shape[1]}, got {lengths.tolist()}")
    return torch.arange(shape[1], device=lengths.device) < lengths[:, None]


def reduced(
    values: Float[Tensor, " batch"],
    reduction: Reduction,
    mask: Bool[Tensor, "batch time"] | None,
    time: int,
) -> Float[Tensor, " batch"] | Float[Tensor, ""]:
    """Sum or average values per sentence.

    Raises:
        ValueError: the reduction has no such name.
    """
    if reduction == "none":
        return values
    if reduction == "sum":
        return values.sum()
    if reduction == "mean":
        return values.mean()
    if reduction == "token_mean":
        return values.sum() / (len(values) * time if mask is None else mask.sum())
    raise ValueError(f"reduction: expected none, sum, mean or token_mean, got {reduction!r}")


def sentence_lengths(emissions: Emissions, mask: Mask) -> list[int]:
    """Return the number of tokens of each sentence."""
    if mask is None:
        return [emissions.shape[1]] * emissions.shape[0]
    lengths: list[int] = (mask.sum(1) if mask.dtype == torch.bool else mask).tolist()
    return lengths
