"""``bilstm-crf eval``: score a model on a file, or label columns that any tool has written."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bilstm_crf.corpus.labels import detect_scheme
from bilstm_crf.corpus.readers import ReaderSettings, read_sentences
from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.evaluation.evaluation import Evaluation, evaluate_analysis
from bilstm_crf.evaluation.records import RunAnalysis, SentenceRecord

logger = logging.getLogger(__name__)


def eval_predictions(
    path: Path,
    *,
    gold_column: int | str = -2,
    predicted_column: int | str = -1,
    token_column: int | str = 0,
    delimiter: str = "auto",
    scheme: str = "auto",
) -> Evaluation:
    """Score predictions that stand beside gold labels in one file.

    Args:
        path: a columns file; the tool that wrote it does not matter.
        gold_column: the column of the gold labels, from 0, negative from the end, or its
            name in the header.
        predicted_column: the column of the predicted labels.
        token_column: the column of the tokens.
        delimiter: ``auto``, ``tab``, ``space`` or the delimiter itself.
        scheme: of both; ``auto`` looks at the gold labels, then at the predicted ones.

    Raises:
        DataError: the file cannot be read, or a column is not there.
    """
    settings = ReaderSettings(format="conll", token_column=token_column, delimiter=delimiter)
    gold, predicted = (
        list(read_sentences(path, replace(settings, label_column=column)))
        for column in (gold_column, predicted_column)
    )
    if scheme == "auto":
        scheme = _scheme_of(gold, predicted)
    records = [
        SentenceRecord(one.tokens, one.labels or (), other.labels or (), where=one.where())
        for one, other in zip(gold, predicted, strict=True)
    ]
    return evaluate_analysis(RunAnalysis(scheme=scheme, split=path.name, sentences=tuple(records)))


def _scheme_of(*files: Sequence[Sentence]) -> str:
    """Return the scheme of the first of several label columns that has any entity."""
    for sentences in files:
        rows = [sentence.labels or () for sentence in sentences]
        if any(label != "O" for row in rows for label in row):
            found = detect_scheme(rows)
            logger.info("label scheme %s (%s)", found.scheme, found.evidence)
            return found.scheme
    return "BIO"
