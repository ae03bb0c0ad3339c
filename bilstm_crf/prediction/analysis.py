"""A trained tagger on labelled sentences: the records from which scores and reports are made."""

from collections.abc import Mapping, Sequence

from bilstm_crf.corpus.labels import (
    SCHEMES,
    convert_labels,
    detect_scheme,
    labels_to_spans,
    split_label,
)
from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.errors import DataError
from bilstm_crf.evaluation.records import RunAnalysis, SentenceRecord, Transitions
from bilstm_crf.model.crf import CRF
from bilstm_crf.prediction.posteriors import score_spans
from bilstm_crf.prediction.predictor import Tagger


def analyse(
    tagger: Tagger,
    sentences: Sequence[Sentence],
    *,
    split: str,
    training_entities: Mapping[str, tuple[str, ...]] | None = None,
) -> RunAnalysis:
    """Predict labelled sentences and keep what was predicted beside gold.

    Args:
        tagger: the model.
        sentences: with labels, in the scheme of the training files or another.
        split: what the sentences are: ``dev``, ``test`` or the name of their file.
        training_entities: entity text -> types it has in the training data, if known.

    Raises:
        DataError: there is no sentence, or one without labels.
    """
    gold = [_labels(sentence) for sentence in sentences]
    if not gold:
        raise DataError(f"no sentences in {split}")
    scheme = _scheme_of(gold, tagger.model.file_scheme)
    predictions = list(tagger.predict_sentences(sentences))
    found = score_spans(
        tagger,
        sentences,
        [labels_to_spans(labels, scheme) for labels in gold],
        [prediction.spans for prediction in predictions],
    )
    records = tuple(
        SentenceRecord(
            tokens=sentence.tokens,
            gold=labels,
            predicted=tuple(convert_labels(prediction.labels, tagger.model.file_scheme, scheme)),
            gold_spans=gold_scored.spans,
            predicted_spans=predicted_scored.spans,
            path_probability=predicted_scored.path_probability,
            gold_path_probability=gold_scored.path_probability,
            where=sentence.where(),
        )
        for sentence, labels, prediction, gold_scored, predicted_scored in zip(
            sentences, gold, predictions, *found, strict=True
        )
    )
    return RunAnalysis(
        scheme,
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


def _scheme_of(gold: Sequence[Sequence[str]], training_scheme: str) -> str:
    """Return the training scheme, unless the labels have prefixes that it does not know."""
    prefixes = {split_label(label)[0] for row in gold for label in row} - {"O"}
    if prefixes <= set(SCHEMES[training_scheme].prefixes):
        return training_scheme
    return detect_scheme(gold).scheme
