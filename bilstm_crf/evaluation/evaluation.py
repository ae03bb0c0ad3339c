"""Everything that is worked out about one set of predictions: scores, errors, confidence."""

from dataclasses import asdict, dataclass
from typing import Any

from bilstm_crf.evaluation.confidence import (
    Calibration,
    ThresholdScores,
    calibrate,
    scores_by_threshold,
)
from bilstm_crf.evaluation.counts import count_entities
from bilstm_crf.evaluation.error_analysis import ErrorAnalysis, analyse_errors
from bilstm_crf.evaluation.evaluated import EvaluatedSentence, evaluated_sentences
from bilstm_crf.evaluation.readings import Readings, readings
from bilstm_crf.evaluation.records import RunAnalysis
from bilstm_crf.evaluation.statistics import RESAMPLES, BootstrapIntervals, bootstrap_intervals
from bilstm_crf.evaluation.suspicion import (
    SureAndWrong,
    Suspect,
    surest_and_wrong,
    suspect_gold,
)


@dataclass(frozen=True)
class Evaluation:
    """What is known of one set of predictions.

    Attributes:
        analysis: the sentences it was worked out from.
        sentences: the same with their entities.
        readings: the scores by every reading.
        intervals: bootstrap intervals of the headline reading.
        errors: the errors, counted from several sides.
        calibration: how probabilities compare with precision; None without probabilities.
        thresholds: scores when less probable entities are dropped; empty without probabilities.
        sure_and_wrong: the wrong sentences the model is surest of.
        suspects: the gold annotations that are most probably wrong.
    """

    analysis: RunAnalysis
    sentences: tuple[EvaluatedSentence, ...]
    readings: Readings
    intervals: BootstrapIntervals
    errors: ErrorAnalysis
    calibration: Calibration | None
    thresholds: tuple[ThresholdScores, ...]
    sure_and_wrong: tuple[SureAndWrong, ...]
    suspects: tuple[Suspect, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the sentences as plain types for JSON.

        The headline numbers stand at the top, the readings under ``readings``.
        """
        scored = self.readings.as_dict()
        return {
            **{name: scored["readings"][scored["headline"]][name] for name in _AT_THE_TOP},
            **scored,
            "split": self.analysis.split,
            "num_sentences": len(self.sentences),
            "intervals": self.intervals.as_dict(),
            "errors": self.errors.as_dict(),
            "calibration": None if self.calibration is None else asdict(self.calibration),
            "thresholds": list(map(asdict, self.thresholds)),
            "sure_and_wrong": [
                {**asdict(wrong), **self._place(wrong.sentence)} for wrong in self.sure_and_wrong
            ],
            "suspects": [
                {**asdict(suspect), **self._place(suspect.sentence)} for suspect in self.suspects
            ],
        }

    def _place(self, sentence: int) -> dict[str, str]:
        record = self.sentences[sentence].record
        return {"where": record.where, "text": " ".join(record.tokens)}


_AT_THE_TOP = ("precision", "recall", "f1", "support", "types", "accuracy", "notes")


def evaluate_analysis(
    analysis: RunAnalysis, *, resamples: int = RESAMPLES, seed: int = 0
) -> Evaluation:
    """Work everything out.

    Args:
        analysis: the evaluated sentences.
        resamples: of the bootstrap.
        seed: of the bootstrap.
    """
    sentences = evaluated_sentences(analysis)
    gold = [list(sentence.record.gold) for sentence in sentences]
    predicted = [list(sentence.record.predicted) for sentence in sentences]
    counts = count_entities((s.gold for s in sentences), (s.predicted for s in sentences))
    certain = [
        (probability, entity in sentence.gold)
        for sentence in sentences
        for entity, probability in sentence.predicted_probabilities.items()
    ]
    probabilities = [probability for probability, _ in certain]
    correct = [right for _, right in certain]
    num_gold = int(counts.gold.sum())
    return Evaluation(
        analysis=analysis,
        sentences=tuple(sentences),
        readings=readings(gold, predicted, scheme=analysis.scheme),
        intervals=bootstrap_intervals(counts, resamples=resamples, seed=seed),
        errors=analyse_errors(sentences, analysis.training_entities),
        calibration=calibrate(probabilities, correct) if certain else None,
        thresholds=tuple(scores_by_threshold(probabilities, correct, num_gold)) if certain else (),
        sure_and_wrong=tuple(surest_and_wrong(sentences)),
        suspects=tuple(suspect_gold(sentences)),
    )
