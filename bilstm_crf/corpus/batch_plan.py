"""Which sentences to put together: similar lengths, bounded size."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray


def plan_batches(
    lengths: NDArray[np.int64],
    *,
    batch_size: int,
    batch_tokens: int | None = None,
    shuffle: Sequence[int] | None = None,
) -> list[NDArray[np.int64]]:
    """Cut a corpus into batches of sentences of similar length.

    Args:
        lengths: tokens of each sentence; empty sentences are in no batch.
        batch_size: most sentences of a batch.
        batch_tokens: most tokens of a batch, padding included; one longer sentence is a batch.
        shuffle: seed numbers, such as (seed, epoch). Equal lengths are then mixed and the
            batches come in random order, the same for the same numbers. Without it the
            longest sentences come first, so that the memory needed shows at once.

    Returns:
        The sentence numbers of each batch.
    """
    rng = None if shuffle is None else np.random.default_rng(list(shuffle))
    ties = np.arange(len(lengths)) if rng is None else rng.permutation(len(lengths))
    order = np.lexsort((ties, -lengths))
    order = order[lengths[order] > 0]
    batches = list(_cut(order, lengths, batch_size, batch_tokens))
    if rng is not None:
        batches = [batches[i] for i in rng.permutation(len(batches))]
    return batches


def _cut(
    order: NDArray[np.int64], lengths: NDArray[np.int64], batch_size: int, batch_tokens: int | None
) -> Iterator[NDArray[np.int64]]:
    start = 0
    while start < len(order):
        longest = int(lengths[order[start]])  # the order is by falling length
        size = batch_size
        if batch_tokens is not None:
            size = max(1, min(batch_size, batch_tokens // longest))
        yield order[start : start + size]
        start += size
