"""On a CPU, numpy in place of torch: the same operations at half the cost of a call.

The recursions are loops over time of small operations, where a call costs more than its work.
Numpy and torch offer the same functions by the same names, so that there is one code for both:
it takes them from the module that :func:`native` returns with the arrays.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

Array = Any
"""A numpy array or a tensor."""


def native(*tensors: Tensor, large: bool = False) -> tuple[Any, list[Array]]:
    """Return numpy and the tensors as its arrays.

    Off the CPU, and for ``large`` work, it is torch and the tensors themselves.
    """
    if large or tensors[0].device.type != "cpu":
        return torch, list(tensors)
    return np, [tensor.numpy() for tensor in tensors]


def as_tensor(array: Array) -> Tensor:
    """Return a tensor with the array's values, in its memory if that is in order."""
    if isinstance(array, Tensor):
        return array
    return torch.from_numpy(np.ascontiguousarray(array))
