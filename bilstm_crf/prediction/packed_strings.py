"""Many strings as two tensors: small, fast to read, and nothing but numbers."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

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


def unpack_strings(packed: dict[str, Tensor]) -> list[str]:
    """Return the strings of :func:`pack_strings`.

    Raises:
        ValueError: the lengths do not add up to the text.
    """
    text = bytes(packed["bytes"].numpy()).decode("utf-8", "surrogatepass")
    lengths = packed["lengths"].tolist()
    if sum(lengths) != len(text) or any(length < 0 for length in lengths):
        raise ValueError("packed strings whose lengths do not fit their text")
    ends = list(accumulate(lengths, initial=0))
    return [text[start:end] for start, end in pairwise(ends)]
