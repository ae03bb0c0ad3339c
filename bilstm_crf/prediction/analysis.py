"""A trained tagger on labelled sentences: the records from which scores and reports are made."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bilstm_crf.corpus.labels import (
    SCHEMES,
    convert_labels,
    detect_scheme,
    labels_to_spans,
    split_label,
)
from bilstm_crf.corpus.sentence import Sentence, Span
from bilstm_crf.errors import DataError
from bilstm_crf.evaluation.records import RunAnalysis, SentenceRecord, Transitions
from bilstm_crf.model.crf import CRF
from bilstm_crf.prediction.predictor import Tagger
from bilstm_crf.prediction.scored_spans import score_spans

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LabelledPredictions:
    """Gold labels and predictions of some sentences.

    Attributes:
        gold: the labels of each sentence as they stand in its file.
        predicted: the predicted ones, in the same scheme.
        spans: the predicted entities.
        scheme: of the labels: that of the training files, or that of this file if it has
            prefixes which the other lacks.
    """

    gold: list[tuple[str, ...]]
    predicted: list[tuple[str, ...]]
    spans: list[list[Span]]
    scheme: str


def predict_labelled(tagger: Tagger, sentences: Sequence[Sentence]) -> LabelledPredictions:
    """Predict sentences whose labels are known.

    Raises:
        DataError: a sentence has no labels.
    """
    gold = [_labels(sentence) for sentence in sentences]
    source = tagger.model.file_scheme
    scheme = _scheme_of(gold, source)
    _warn_of_unknown_types(gold, scheme, tagger.types)
    predictions = list(tagger.predict_sentences(sentences))
    return LabelledPredictions(
        gold=gold,
        predicted=[tuple(convert_labels(found.labels, source, scheme)) for found in predictions],
        spans=[found.spans for found in predictions],
        scheme=scheme,
    )


def analyse(
    tagger: Tagger,
    sentences: Sequence[Sentence],
    *,
    split: str,
    training_entities: Mapping[str, tuple[str, ...]] | None = None,
) -> RunAnalysis:
    """Predict labelled sentences and keep what was predicted beside gold, with probabilities.

    Args:
        tagger: the model.
        sentences: with labels, in the scheme of the training files or another.
        split: what the sentences are: ``dev``, ``test`` or the name of their file.
        training_entities: entity text -> types it has in the training data, if known.

    Raises:
        DataError: a sentence has no labels.
    """
    found = predict_labelled(tagger, sentences)
    gold_spans = [labels_to_spans(labels, found.scheme) for labels in found.gold]
    gold_scored, predicted_scored = score_spans(tagger, sentences, gold_spans, found.spans)
    records = tuple(
        SentenceRecord(
            tokens=sentence.tokens,
            gold=gold,
            predicted=predicted,
            gold_spans=of_gold.spans,
            predicted_spans=of_predicted.spans,
            path_probability=of_predicted.path_probability,
            gold_path_probability=of_gold.path_probability,
            where=sentence.where(),
        )
        for sentence, gold, predicted, of_gold, of_predicted in zip(
            sentences, found.gold, found.predicted, gold_scored, predicted_scored, strict=True
        )
    )
    return RunAnalysis(
        found.scheme,
        split,
        records,
        training_entities,
        transitions=_transitions(tagger),
        fingerprints=tagger.model.record.get("data"),
    )


def _transitions(tagger: Tagger) -> Transitions | None:
    head = tagger.network.head
    if not isinstance(head, CRF):
        return None
    return Transitions(
        labels=tagger.labels,
        start=tuple(head.start_transitions.tolist()),
        pairs=tuple(map(tuple, head.transitions.tolist())),
        end=tuple(head.end_transitions.tolist()),
    )


def _labels(sentence: Sentence) -> tuple[str, ...]:
    if sentence.labels is None:
        raise DataError(f"{sentence.where()}: no labels; labelled data is needed")
    return sentence.labels


def _warn_of_unknown_types(
    gold: Sequence[Sequence[str]], scheme: str, known: Sequence[str]
) -> None:
    found = Counter(span.type for labels in gold for span in labels_to_spans(labels, scheme))
    unknown = [f"{name} ({count})" for name, count in sorted(found.items()) if name not in known]
    if unknown:
        logger.warning(
            "entity types that the model does not know, scored as missed: %s", ", ".join(unknown)
        )


def _scheme_of(gold: Sequence[Sequence[str]], training_scheme: str) -> str:
    """Return the training scheme, unless the labels have prefixes that it does not know."""
    prefixes = {split_label(label)[0] for row in gold for label in row} - {"O"}
    if prefixes <= set(SCHEMES[training_scheme].prefixes):
        return training_scheme
    return detect_scheme(gold).scheme
