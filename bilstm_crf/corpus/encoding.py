"""A corpus as flat integer arrays: millions of tokens without a Python object for each."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.corpus.context import first_sentences
from bilstm_crf.corpus.sentence import Sentence

IntArray = NDArray[np.int32]


class StringTable(dict[str, int]):
    """Distinct strings numbered from 0 in the order of their first appearance.

    Looking up a new string adds it, which lets a whole sentence be numbered by one C-level map.
    """

    def __missing__(self, string: str) -> int:
        number = self[string] = len(self)
        return number


@dataclass(frozen=True)
class Places:
    """Where each sentence stands: file and line, for messages.

    Attributes:
        paths: the files, in the order read.
        path_ids: for each sentence its index in ``paths``.
        first_lines: line of each sentence's first token, counted from 1; 0 if unknown.
        scattered: the lines of those sentences whose tokens do not stand on consecutive lines.
    """

    paths: tuple[str, ...]
    path_ids: IntArray
    first_lines: IntArray
    scattered: dict[int, Sequence[int]]

    def where(self, sentence: int, token: int = 0) -> str:
        """Return ``file:line`` of a token."""
        path = self.paths[self.path_ids[sentence]]
        lines = self.scattered.get(sentence)
        if lines is not None:
            return f"{path}:{lines[token]}"
        first = int(self.first_lines[sentence])
        return f"{path}:{first + token}" if first else path


@dataclass(frozen=True)
class EncodedCorpus:
    """Sentences as ids: each token is the number of its form, each label that of its string.

    Attributes:
        forms: distinct word forms; a token's id is its index here.
        form_ids: (tokens,) form of each token, sentences one after the other.
        labels: distinct labels as they stand in the file.
        label_ids: (tokens,) index into ``labels``, or None where the corpus has no labels.
        starts: (sentences + 1,) where each sentence begins in the flat arrays.
        features: extra columns: distinct values and (tokens,) indices by name.
        places: files and lines.
        documents: numbers of the sentences that open a document.
        windows: (windows + 1,) number of the sentence that each window begins with, where the
            network reads windows; see :mod:`bilstm_crf.corpus.context`.
    """

    forms: tuple[str, ...]
    form_ids: IntArray
    labels: tuple[str, ...]
    label_ids: IntArray | None
    starts: NDArray[np.int64]
    features: dict[str, tuple[tuple[str, ...], IntArray]] = field(default_factory=dict)
    places: Places | None = None
    documents: NDArray[np.int64] | None = None
    windows: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def num_tokens(self) -> int:
        return int(self.starts[-1])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each sentence."""
        return np.diff(self.starts)

    @property
    def sequence_starts(self) -> NDArray[np.int64]:
        """Where each sequence that the network reads begins: a sentence or a window."""
        return self.starts if self.windows is None else self.starts[self.windows]

    @property
    def sequence_lengths(self) -> NDArray[np.int64]:
        """Tokens of each sequence."""
        return np.diff(self.sequence_starts)

    def count_sentences(self, sequences: NDArray[np.int64]) -> int:
        """Return how many sentences some sequences hold."""
        if self.windows is None:
            return len(sequences)
        return int((self.windows[sequences + 1] - self.windows[sequences]).sum())

    def first_sentence(self, sequence: int) -> int:
        """Return the number of a sequence's first sentence."""
        return sequence if self.windows is None else int(self.windows[sequence])

    def in_windows(self, most_tokens: int) -> "EncodedCorpus":
        """Return the corpus to be read in windows of neighbouring sentences.

        Args:
            most_tokens: of a window, unless a single sentence is longer.
        """
        opens = np.zeros(len(self), dtype=bool)
        opens[[] if self.documents is None else self.documents] = True
        windows = first_sentences(self.lengths.tolist(), opens.tolist(), most_tokens)
        return replace(self, windows=windows)

    def form_counts(self) -> dict[str, int]:
        """Return how often each form occurs, in the order of first appearance."""
        counts = np.bincount(self.form_ids, minlength=len(self.forms))
        return dict(zip(self.forms, counts.tolist(), strict=True))

    def sentence_labels(self) -> Iterator[list[str]]:
        """Yield the labels of each sentence; raise ValueError for a corpus without any."""
        if self.label_ids is None:
            raise ValueError("this corpus has no labels")
        labels, ids, starts = self.labels, self.label_ids.tolist(), self.starts.tolist()
        for start, end in pairwise(starts):
            yield [labels[number] for number in ids[start:end]]

    def sentence_tokens(self) -> Iterator[list[str]]:
        """Yield the tokens of each sentence."""
        forms, ids, starts = self.forms, self.form_ids.tolist(), self.starts.tolist()
        for start, end in pairwise(starts):
            yield [forms[number] for number in ids[start:end]]

    def with_labels(self, labels: Sequence[str], label_ids: IntArray) -> "EncodedCorpus":
        """Return the same sentences with other labels."""
        return replace(self, labels=tuple(labels), label_ids=label_ids)


def encode(sentences: Iterable[Sentence], feature_names: Sequence[str] = ()) -> EncodedCorpus:
    """Read sentences into flat arrays.

    Args:
        sentences: any iterable, consumed once; all with labels or all without.
        feature_names: the extra columns to keep.
    """
    forms, labels, paths = StringTable(), StringTable(), StringTable()
    values = {name: StringTable() for name in feature_names}
    form_ids, label_ids, starts = array("i"), array("i"), array("q", [0])
    value_ids = {name: array("i") for name in feature_names}
    path_ids, first_lines, documents = array("i"), array("i"), array("q")
    scattered: dict[int, Sequence[int]] = {}
    number_form, number_label = forms.__getitem__, labels.__getitem__
    for sentence in sentences:
        form_ids.extend(map(number_form, sentence.tokens))
        if sentence.labels is not None:
            label_ids.extend(map(number_label, sentence.labels))
        for name in feature_names:
            value_ids[name].extend(map(values[name].__getitem__, sentence.features[name]))
        lines = sentence.lines
        if lines and not isinstance(lines, range):
            scattered[len(path_ids)] = lines
        path_id = paths[sentence.path]
        if sentence.opens_document or not path_ids or path_ids[-1] != path_id:
            documents.append(len(path_ids))
        path_ids.append(path_id)
        first_lines.append(lines[0] if lines else 0)
        starts.append(len(form_ids))
    has_labels = len(label_ids) == len(form_ids)
    return EncodedCorpus(
        forms=tuple(forms),
        form_ids=_int_array(form_ids),
        labels=tuple(labels),
        label_ids=_int_array(label_ids) if has_labels else None,
        starts=np.frombuffer(starts, dtype=np.int64),
        features={
            name: (tuple(values[name]), _int_array(value_ids[name])) for name in feature_names
        },
        places=Places(tuple(paths), _int_array(path_ids), _int_array(first_lines), scattered),
        documents=np.array(documents, dtype=np.int64),
    )


def _int_array(numbers: "array[int]") -> IntArray:
    return np.frombuffer(numbers, dtype=np.int32) if len(numbers) else np.zeros(0, dtype=np.int32)
