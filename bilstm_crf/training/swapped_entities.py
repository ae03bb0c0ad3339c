"""Training sentences with other entities in them: same type, another place of the corpus.

A network that has seen ``flew to Oslo`` thirty times knows Oslo. One that reads ``flew to New
York`` and ``flew to Bergen`` in the same place has to learn what flying to somewhere looks like,
and what names look like. Mention replacement: Dai and Adel 2020, "An Analysis of Simple Data
Augmentation for Named Entity Recognition", section 2, https://arxiv.org/abs/2010.11683.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.corpus.encoding import EncodedCorpus
from bilstm_crf.corpus.labels import labels_to_spans
from bilstm_crf.corpus.schemes import OUTSIDE

Indices = NDArray[np.int64]


class EntitySwapper:
    """Makes copies of a corpus in which some entities gave way to others of their type.

    The other entity brings its tokens, labels and extra columns, so it may be longer or shorter.
    All distinct entities of a type are equally likely.

    Args:
        corpus: with label ids of the model's scheme.
        scheme: that scheme.
        share: the chance of each entity to be replaced.
    """

    def __init__(self, corpus: EncodedCorpus, scheme: str, share: float):
        self._corpus, self._share = corpus, share
        found = _entities(corpus, scheme)
        self._sentence, self._begin, self._end = found[:, 0], found[:, 1], found[:, 2]
        self._type = found[:, 3]
        self._distinct = _one_of_each(corpus, found)

    def corpus(self, seed: tuple[int, ...]) -> EncodedCorpus:
        """Return a copy with as many sentences, in the same order; the same one for a seed."""
        random = np.random.default_rng(seed)
        chosen = np.flatnonzero(random.random(len(self._begin)) < self._share)
        if not len(chosen):
            return self._corpus
        sources = np.empty(len(chosen), dtype=np.int64)
        for number, candidates in self._distinct.items():
            here = np.flatnonzero(self._type[chosen] == number)
            sources[here] = random.choice(candidates, len(here))
        # What follows one replaced entity and goes up to the next, and what takes its place.
        gaps_begin = np.concatenate([[0], self._end[chosen]])
        gaps_end = np.concatenate([self._begin[chosen], [self._corpus.num_tokens]])
        begins = _alternating(gaps_begin, self._begin[sources])
        lengths = _alternating(gaps_end - gaps_begin, (self._end - self._begin)[sources])
        taken = _ranges(begins, lengths)
        grown = (self._end - self._begin)[sources] - (self._end - self._begin)[chosen]
        sentence_lengths = self._corpus.lengths.copy()
        np.add.at(sentence_lengths, self._sentence[chosen], grown)
        labels = self._corpus.label_ids
        return replace(
            self._corpus,
            form_ids=self._corpus.form_ids[taken],
            label_ids=None if labels is None else labels[taken],
            starts=np.concatenate([[0], sentence_lengths.cumsum()]),
            features={
                name: (values, ids[taken]) for name, (values, ids) in self._corpus.features.items()
            },
        )


def _entities(corpus: EncodedCorpus, scheme: str) -> Indices:
    """Return (entities, 4): sentence, first token, end, type number; tokens of the whole corpus."""
    if corpus.label_ids is None:
        raise ValueError("this corpus has no labels")
    types: dict[str, int] = {}
    rows = []
    inside = np.array([label != OUTSIDE for label in corpus.labels])[corpus.label_ids]
    counts = np.diff(np.concatenate([[0], inside.cumsum()])[corpus.starts])
    for sentence in np.flatnonzero(counts).tolist():
        start, end = corpus.starts[sentence : sentence + 2].tolist()
        labels = [corpus.labels[number] for number in corpus.label_ids[start:end]]
        for span in labels_to_spans(labels, scheme):
            if scheme == "IOB1" and labels[span.start].startswith("B"):
                continue  # only where it stands now, right after another one, is this label true
            number = types.setdefault(span.type, len(types))
            rows.append((sentence, start + span.start, start + span.end, number))
    return np.array(rows, dtype=np.int64).reshape(-1, 4)


def _one_of_each(corpus: EncodedCorpus, entities: Indices) -> dict[int, Indices]:
    """Return by type number the entities, each spelling once."""
    first: dict[int, dict[bytes, int]] = {}
    for row, (_, begin, end, number) in enumerate(entities.tolist()):
        spelling = corpus.form_ids[begin:end].tobytes()
        first.setdefault(number, {}).setdefault(spelling, row)
    return {number: np.array([*rows.values()]) for number, rows in first.items()}


def _alternating(gaps: Indices, entities: Indices) -> Indices:
    """Return gap, entity, gap, entity, ..., gap."""
    merged = np.empty(len(gaps) + len(entities), dtype=np.int64)
    merged[::2], merged[1::2] = gaps, entities
    return merged


def _ranges(begins: Indices, lengths: Indices) -> Indices:
    """Return ``begin, begin + 1, ...`` of each length, one behind the other."""
    before = lengths.cumsum() - lengths
    return np.repeat(begins - before, lengths) + np.arange(int(lengths.sum()))
