"""Strings and their ids, learned from the training data once and then fixed."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

UNKNOWN = 0
"""Id of every string that a vocabulary does not hold."""

_DIGITS = re.compile(r"[0-9]")


class Vocabulary:
    """An immutable list of distinct strings; id 0 stands for everything not in it.

    Args:
        strings: the strings in the order of their ids, which start at 1.
    """

    def __init__(self, strings: Iterable[str]):
        self.strings = tuple(strings)
        self._ids = {string: number for number, string in enumerate(self.strings, 1)}
        if len(self._ids) != len(self.strings):
            raise ValueError("a vocabulary cannot hold the same string twice")

    @classmethod
    def by_frequency(cls, counts: Mapping[str, int], *, min_count: int = 1) -> "Vocabulary":
        """Hold the strings counted at least ``min_count`` times, most frequent first.

        Equal counts keep the order of ``counts``, so the ids do not depend on string hashes.
        """
        kept = [string for string, count in counts.items() if count >= min_count]
        return cls(sorted(kept, key=lambda string: -counts[string]))

    def __len__(self) -> int:
        """Return the number of ids, that of the unknown included."""
        return len(self.strings) + 1

    def __contains__(self, string: str) -> bool:
        return string in self._ids

    def __iter__(self) -> Iterator[str]:
        return iter(self.strings)

    def id(self, string: str) -> int:
        return self._ids.get(string, UNKNOWN)


def lookup_keys(form: str) -> tuple[str, str, str]:
    """Return the spellings under which a word is looked up, in this order.

    As it stands, in lower case, in lower case with every digit as 0 (the order of Collobert
    et al. 2011, section 4.2, extended by the exact form for vectors that keep case).
    """
    lower = form.lower()
    return form, lower, _DIGITS.sub("0", lower)


class WordVocabulary:
    """The rows of the word table: unknown, words tuned in training, words known from vectors only.

    Args:
        trained: words with a row that training changes; ids start at 1.
        stored: words of the vectors file unseen in training; their ids follow.
    """

    def __init__(self, trained: Sequence[str], stored: Sequence[str] = ()):
        self.trained = tuple(trained)
        self.stored = tuple(stored)
        self._all = Vocabulary((*self.trained, *self.stored))

    @property
    def num_trained(self) -> int:
        """Rows that training changes, the unknown word's included."""
        return len(self.trained) + 1

    def __len__(self) -> int:
        return len(self._all)

    def row(self, form: str) -> int:
        """Return the row of a word form: the first of its look-up keys that has one, else 0."""
        number = self._all.id(form)
        if number == UNKNOWN:  # most words have a row as they are; only the others pay for more
            number = next((n for key in lookup_keys(form) if (n := self._all.id(key))), UNKNOWN)
        return number


def training_key(form: str, known_vectors: "set[str] | Mapping[str, object]") -> str:
    """Return the word under which a form of the training data gets its row.

    The first look-up key that has a pretrained vector; without one, the most general key, so
    that ``1987`` and ``1990``, or ``THE`` and ``the``, share what they learn.
    """
    keys = lookup_keys(form)
    return next((key for key in keys if key in known_vectors), keys[-1])


@dataclass(frozen=True)
class Vocabularies:
    """All that a model knows by name.

    Attributes:
        words: rows of the word table.
        chars: characters.
        labels: labels of the model in the order of their ids, ``O`` first.
        columns: values of each extra column.
    """

    words: WordVocabulary
    chars: Vocabulary
    labels: tuple[str, ...]
    columns: Mapping[str, Vocabulary]
