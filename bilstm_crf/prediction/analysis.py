"""A trained tagger on labelled sentences: the records from which scores and reports are made."""

from collections.abc import Mapping, Sequence

from bilstm_crf.corpus.labels import SCHEMES, convert_labels, detect_scheme, split_label
from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.errors import DataError
from bilstm_crf.evaluation.records import RunAnalysis, SentenceRecord
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
    records = []
    for prediction, labels in zip(tagger.predict_sentences(sentences), gold, strict=True):
        predicted = convert_labels(prediction.labels, tagger.model.file_scheme, scheme)
        records.append(
            SentenceRecord(
                tokens=prediction.sentence.tokens,
                gold=labels,
                predicted=tuple(predicted),
                predicted_spans=tuple(prediction.spans),
                where=prediction.sentence.where(),
            )
        )
    return RunAnalysis(scheme, split, tuple(records), training_entities)


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
