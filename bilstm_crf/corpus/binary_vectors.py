"""Reads word vectors in the binary forms of word2vec and fastText."""

import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.errors import DataError, MissingExtraError

FASTTEXT_MAGIC = (793712314).to_bytes(4, "little")
"""The first bytes of a fastText ``.bin`` file."""

_LONGEST_WORD = 1 << 16


def read_word2vec(
    chunks: Iterator[bytes], path: Path
) -> Iterator[tuple[bytes, NDArray[np.float32]]]:
    r"""Yield the words and vectors of a binary word2vec file.

    The form: ``rows size\n``, then for each row the word, a space and ``size`` float32
    numbers, little-endian; some writers end each row by a line feed.

    Args:
        chunks: the bytes of the file.
        path: the file, for messages.

    Raises:
        DataError: this is no such file, or it ends too early.
    """
    header, newline, data = next(chunks, b"").partition(b"\n")
    fields = header.split()
    if not newline or len(fields) != 2 or not (fields[0].isdigit() and fields[1].isdigit()):
        raise DataError("a binary file, but neither gzip nor word vectors of word2vec", path)
    num_rows, size = int(fields[0]), int(fields[1])
    row_bytes = 4 * size
    at = 0
    for row in range(1, num_rows + 1):
        while len(data) - at < row_bytes + _LONGEST_WORD:
            if not (more := next(chunks, b"")):
                break
            data, at = data[at:] + more, 0
        space = data.find(b" ", at, at + _LONGEST_WORD)
        end = space + 1 + row_bytes
        if space < 0 or len(data) < end:
            raise DataError(f"the file ends in row {row} of {num_rows}: cut off?", path)
        yield data[at:space].lstrip(b"\n"), np.frombuffer(data, "<f4", size, space + 1)
        at = end


def read_fasttext(
    path: Path, wanted: Callable[[str], bool] | None
) -> tuple[list[str], NDArray[np.float32]]:
    """Return the words and vectors of a fastText ``.bin`` file, read by gensim.

    The whole file is read into memory, for that is the only way gensim has.

    Raises:
        MissingExtraError: gensim is not installed.
        DataError: gensim cannot read the file.
    """
    try:
        from gensim.models.fasttext import load_facebook_vectors
    except ImportError:
        raise MissingExtraError("gensim", "vectors", "reading fastText .bin vectors") from None
    try:
        vectors = load_facebook_vectors(str(path))
    except (AssertionError, ValueError, EOFError, OSError, NotImplementedError, struct.error) as e:
        reason = str(e) or type(e).__name__
        raise DataError(f"gensim cannot read this as fastText vectors: {reason}", path) from None
    words = [word for word in vectors.index_to_key if wanted is None or wanted(word)]
    rows = [vectors[word] for word in words]
    matrix = np.stack(rows) if rows else np.empty((0, vectors.vector_size))
    return words, matrix.astype(np.float32)
