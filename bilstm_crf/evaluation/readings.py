"""One set of predictions scored by three sets of rules, side by side and named.

The readings differ only on malformed label rows: what is an entity in them is a matter of
rules, and published numbers follow one or another.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bilstm_crf.evaluation.counts import count_labels
from bilstm_crf.evaluation.entities import CONLLEVAL, Entity, EntityFinder
from bilstm_crf.evaluation.illegal import IllegalLabels, find_illegal
from bilstm_crf.evaluation.letters import to_bio_letters
from bilstm_crf.evaluation.metrics import (
    HEADLINE_READING,
    EntityScores,
    label_matches,
    scores_from_counts,
)
from bilstm_crf.evaluation.seqeval_entities import default_finder, strict_finder

Finder = Callable[[Sequence[str]], list[Entity]]


def conlleval_finder(scheme: str) -> Finder:
    """Return a function that finds entities by the rules of conlleval.

    conlleval was made for B and I. Labels of BIOES, BMES and BILOU are renamed to these
    first (E, M, L as I; S, U as B), for its own rules do not see a break between E and B.
    """
    find, rename = EntityFinder(CONLLEVAL), to_bio_letters(scheme)
    return lambda labels: find(rename(labels))


READINGS: Mapping[str, Callable[[str], Finder]] = {
    "seqeval_strict": strict_finder,
    "seqeval_default": default_finder,
    "conlleval": conlleval_finder,
}
"""Name of a reading -> scheme -> function that finds the entities of one sentence."""


@dataclass(frozen=True)
class Readings:
    """The scores by every reading.

    Attributes:
        scheme: the label scheme of gold and predictions.
        by_name: the scores, by name of the reading.
        gold_illegal: labels in gold that the scheme does not allow where they stand.
        predicted_illegal: likewise in the predictions.
    """

    scheme: str
    by_name: dict[str, EntityScores]
    gold_illegal: IllegalLabels
    predicted_illegal: IllegalLabels

    @property
    def headline(self) -> EntityScores:
        """The scores shown first and used in training."""
        return self.by_name[HEADLINE_READING]

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain numbers, strings, dicts and lists for JSON."""
        return {
            "scheme": self.scheme,
            "headline": HEADLINE_READING,
            "readings": {name: scores.as_dict() for name, scores in self.by_name.items()},
            "illegal": {
                "gold": self.gold_illegal.as_dict(),
                "predicted": self.predicted_illegal.as_dict(),
            },
        }


def readings(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], *, scheme: str
) -> Readings:
    """Score predicted labels by every reading.

    Args:
        gold: the labels of each sentence.
        predicted: likewise, of the same shape.
        scheme: the scheme of both, a key of `bilstm_crf.corpus.labels.SCHEMES`.

    Raises:
        ValueError: the two do not have the same shape.
    """
    finders = {name: make(scheme) for name, make in READINGS.items()}
    counts = {name: count_labels(gold, predicted, find) for name, find in finders.items()}
    matches = label_matches(gold, predicted)
    return Readings(
        scheme=scheme,
        by_name={
            name: scores_from_counts(counted, *matches, reading=name)
            for name, counted in counts.items()
        },
        gold_illegal=find_illegal(gold, scheme, finders),
        predicted_illegal=find_illegal(predicted, scheme, finders),
    )
