"""Evaluated sentences with their entities, as the headline reading finds them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bilstm_crf.corpus.sentence import Span
from bilstm_crf.evaluation.entities import SEQEVAL_DEFAULT, Entity, EntityFinder
from bilstm_crf.evaluation.letters import to_bioes_letters
from bilstm_crf.evaluation.records import RunAnalysis, SentenceRecord


@dataclass(frozen=True)
class EvaluatedSentence:
    """A sentence record and its entities.

    Attributes:
        record: the sentence.
        gold: its gold entities, from left to right.
        predicted: the predicted ones.
        gold_probabilities: the probability the model gives each gold entity, where known.
        predicted_probabilities: likewise of each predicted one.
    """

    record: SentenceRecord
    gold: tuple[Entity, ...]
    predicted: tuple[Entity, ...]
    gold_probabilities: Mapping[Entity, float]
    predicted_probabilities: Mapping[Entity, float]

    def text(self, entity: Entity) -> str:
        """Return the tokens of an entity, joined by spaces."""
        return " ".join(self.record.tokens[entity[0] : entity[1]])


def evaluated_sentences(analysis: RunAnalysis) -> list[EvaluatedSentence]:
    """Find the entities of every sentence of an analysis."""
    find, rename = EntityFinder(SEQEVAL_DEFAULT), to_bioes_letters(analysis.scheme)
    return [
        EvaluatedSentence(
            record,
            tuple(find(rename(record.gold))),
            tuple(find(rename(record.predicted))),
            _probabilities(record.gold_spans),
            _probabilities(record.predicted_spans),
        )
        for record in analysis.sentences
    ]


def _probabilities(spans: Sequence[Span]) -> dict[Entity, float]:
    return {
        (span.start, span.end, span.type): span.probability
        for span in spans
        if span.probability is not None
    }
