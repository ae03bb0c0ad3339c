"""What a word form looks like to the model: its word row, its characters, its affixes and shape."""

from array import array
from collections.abc import Iterable, Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.corpus.vocabulary import UNKNOWN, Vocabulary, WordVocabulary

FEATURE_KINDS = ("prefix1", "prefix2", "prefix3", "suffix1", "suffix2", "suffix3", "shape")
"""Views of a form that are hashed into a fixed number of rows."""

FEATURE_ROWS = 2000
"""Rows for each hashed view; row 0 is the padding's."""


def word_shape(form: str) -> str:
    """Return the form with letters and digits replaced by their class: ``Xxxx-dd``.

    A run of one class is cut after four, so that the length of a word does not make its shape.
    """
    shape: list[str] = []
    for char in form[:100]:
        if char.isdigit():
            kind = "d"
        elif char.isalpha():
            kind = "X" if char.isupper() else "x"
        else:
            kind = char
        if shape[-4:] != [kind] * 4:
            shape.append(kind)
    return "".join(shape)


def _views(form: str) -> tuple[str, ...]:
    lower = form.lower()
    return (lower[:1], lower[:2], lower[:3], lower[-1:], lower[-2:], lower[-3:], word_shape(form))


def shorten(form: str, longest: int) -> str:
    """Return a form as the character encoder sees it: whole, or its head and tail.

    Args:
        form: any string.
        longest: most characters to keep; half from each end of a longer form.
    """
    if len(form) <= longest:
        return form
    head = (longest + 1) // 2
    return form[:head] + form[len(form) - (longest - head) :]


class _CharIds(dict[str, int]):
    """The id of each character, moved up by one since 0 is padding; 1 for an unknown one."""

    def __missing__(self, char: str) -> int:
        return UNKNOWN + 1


class FormTable:
    """The rows of a growing list of distinct forms, as arrays.

    Args:
        words: the word vocabulary.
        chars: the character vocabulary; its ids are moved up by one, since 0 is padding.
        longest: most characters of a form that are encoded.
        with_views: work out the hashed views; else all of them are row 0.

    Attributes:
        words: (forms,) word table rows.
        features: (forms, kinds) hashed rows of prefixes, suffixes and shape.
        num_shortened: forms longer than ``longest``.
    """

    def __init__(
        self, words: WordVocabulary, chars: Vocabulary, *, longest: int, with_views: bool = True
    ):
        self._word_vocabulary, self._longest, self._with_views = words, longest, with_views
        self._char_id = _CharIds((char, number) for number, char in enumerate(chars, 2))
        self._char_ids = np.zeros(0, dtype=np.int32)
        self._char_starts = np.zeros(1, dtype=np.int64)
        self.words = np.zeros(0, dtype=np.int64)
        self.features = np.zeros((0, len(FEATURE_KINDS)), dtype=np.int64)
        self.num_shortened = 0

    def __len__(self) -> int:
        return len(self.words)

    def extend(self, forms: Iterable[str]) -> None:
        """Add forms; they get the next ids."""
        row, char_id = self._word_vocabulary.row, self._char_id.__getitem__
        words, chars, ends = array("q"), array("i"), array("q")
        views: list[list[int]] = []
        base = len(self._char_ids)
        for form in forms:
            words.append(row(form))
            seen = shorten(form, self._longest)
            self.num_shortened += len(seen) < len(form)
            chars.extend(map(char_id, seen))
            ends.append(base + len(chars))
            if self._with_views:
                views.append(_hashed(_views(seen)))
        if not words:
            return
        features = np.zeros((len(words), len(FEATURE_KINDS)), dtype=np.int64)
        if views:
            features[:] = views
        self.words = np.concatenate([self.words, np.array(words)])
        self.features = np.concatenate([self.features, features])
        self._char_ids = np.concatenate([self._char_ids, np.array(chars)])
        self._char_starts = np.concatenate([self._char_starts, np.array(ends)])

    def num_characters(self, forms: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return how many characters of each form are encoded."""
        lengths: NDArray[np.int64] = np.diff(self._char_starts)[forms]
        return lengths

    def characters(self, forms: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the (forms, chars) character ids of some forms, 0 behind a form's end."""
        starts = self._char_starts[forms]
        lengths = self._char_starts[forms + 1] - starts
        steps = np.arange(max(1, lengths.max(initial=0)))
        inside = steps < lengths[:, None]  # (forms, chars)
        table = np.zeros(inside.shape, dtype=np.int64)
        table[inside] = self._char_ids[(starts[:, None] + steps)[inside]]
        return table


def _hashed(views: Sequence[str]) -> list[int]:
    # crc32 is the same in every process, unlike hash(); the kind's number salts equal strings.
    return [
        1 + crc32(view.encode("utf-8", "surrogatepass"), kind) % (FEATURE_ROWS - 1)
        for kind, view in enumerate(views)
    ]
