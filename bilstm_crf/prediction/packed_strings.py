"""Many strings as two tensors: small, fast to read, and nothing but numbers."""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor


def pack_strings(strings: Sequence[str]) -> dict[str, Tensor]:
    """Return the UTF-8 bytes of all strings, one after the other, and each one's characters."""
    text = "".join(strings).encode("utf-8", "surrogatepass")
    return {
        "bytes": torch.from_numpy(np.frombuffer(bytearray(text), dtype=np.uint8)),
        "lengths": torch.tensor([len(string) for string in strings], dtype=torch.int32),
    }


def unpack_strings(packed: Any) -> list[str]:
    """Return the strings of :func:`pack_strings`.

    Raises:
        TypeError: that is not what it wrote.
        ValueError: the lengths do not add up to the text.
    """
    tensors = packed if isinstance(packed, dict) else {}
    text_bytes, sizes = tensors.get("bytes"), tensors.get("lengths")
    for tensor, dtype in ((text_bytes, torch.uint8), (sizes, torch.int32)):
        if not isinstance(tensor, Tensor) or tensor.dtype != dtype or tensor.dim() != 1:
            raise TypeError("strings that are not packed as two tensors")
    text = bytes(tensors["bytes"].numpy()).decode("utf-8", "surrogatepass")
    lengths = tensors["lengths"].tolist()
    if sum(lengths) != len(text) or any(length < 0 for length in lengths):
        raise ValueError("packed strings whose lengths do not fit their text")
    ends = list(accumulate(lengths, initial=0))
    return [text[start:end] for start, end in pairwise(ends)]
