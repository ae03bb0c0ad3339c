"""What the network reads at once: a sentence, or a window of neighbouring sentences.

A window holds whole sentences of one document, as many as fit its limit of tokens, counted from
the beginning of the document; a longer sentence is a window by itself. So what a sentence is read
with depends on its document alone. The BiLSTM runs over windows, the CRF over each sentence.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.corpus.sentence import Sentence

IntArray = NDArray[np.int64]


def context_limit(data: Mapping[str, Any]) -> int | None:
    """Return the most tokens of a window, None where each sentence is read by itself.

    Args:
        data: the section ``data`` of a configuration, or of a model's record, where the keys may be
            missing.

    Raises:
        ValueError: the values are none of a configuration.
    """
    context, most_tokens = data.get("context", "sentence"), data.get("context_tokens", 1)
    if context not in ("sentence", "document") or type(most_tokens) is not int or most_tokens < 1:
        raise ValueError(f"context {context!r} of {most_tokens!r} tokens")
    return most_tokens if context == "document" else None


def first_sentences(
    lengths: Iterable[int], opens_document: Iterable[bool], most_tokens: int
) -> IntArray:
    """Cut sentences into windows.

    Args:
        lengths: tokens of each sentence.
        opens_document: whether each sentence is the first of a document.
        most_tokens: of a window.

    Returns:
        (windows + 1,) number of the sentence that each window begins with, then their count.
    """
    firsts: list[int] = []
    room = -1
    number = 0
    for number, (length, opens) in enumerate(zip(lengths, opens_document, strict=True), 1):
        if opens or length > room:
            firsts.append(number - 1)
            room = most_tokens
        room = max(room - length, 0)
    return np.array([*firsts, number], dtype=np.int64)


def take_windows(
    sentences: Iterable[Sentence], most_tokens: int, enough: int
) -> Iterator[list[Sentence]]:
    """Yield whole windows together, as soon as they hold enough tokens.

    Args:
        sentences: the first begins a window.
        most_tokens: of a window.
        enough: tokens to read ahead.
    """
    taken: list[Sentence] = []
    room, total = -1, 0
    for sentence in sentences:
        if sentence.opens_document or len(sentence) > room:
            if total >= enough:
                yield taken
                taken, total = [], 0
            room = most_tokens
        room = max(room - len(sentence), 0)
        taken.append(sentence)
        total += len(sentence) + 1
    if taken:
        yield taken


def sentences_inside(
    starts: IntArray, begins: IntArray, ends: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Find the sentences of some windows; those without tokens are left out.

    Args:
        starts: (sentences + 1,) first token of each sentence.
        begins: first token of each window.
        ends: the token behind each window.

    Returns:
        Each (sentences found,): their numbers, the window of each counted in ``begins``, and the
        place of its first token in the window.
    """
    first = np.searchsorted(starts, begins)
    counts = np.searchsorted(starts, ends) - first
    rows = np.repeat(np.arange(len(begins)), counts)
    before = counts.cumsum() - counts
    numbers = np.arange(counts.sum()) + (first - before)[rows]
    some = starts[numbers + 1] > starts[numbers]
    numbers, rows = numbers[some], rows[some]
    return numbers, rows, starts[numbers] - begins[rows]
