"""What a finished run leaves beside its model: predictions, their analysis and the report."""

import logging
from pathlib import Path

from bilstm_crf.commands.model_data import ModelData
from bilstm_crf.commands.report import ANALYSIS_FILE, write_report
from bilstm_crf.corpus.labels import labels_to_spans
from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.corpus.writers import WRITERS
from bilstm_crf.errors import DataError
from bilstm_crf.evaluation.records import (
    RunAnalysis,
    training_entities,
    write_analysis,
)
from bilstm_crf.prediction.analysis import analyse
from bilstm_crf.prediction.predictor import Tagger

logger = logging.getLogger(__name__)

PREDICTIONS_FILE = "predictions.conll"
"""Token, gold label and predicted label of the test data (dev where there is none)."""


def write_run_report(folder: Path, tagger: Tagger) -> Path:
    """Analyse a run's model on its own test or dev data and write the report.

    Args:
        folder: the run folder; its scores, metrics and configuration are already written.
        tagger: its model.

    Returns:
        The report.

    Raises:
        BilstmCrfError: a data file has changed or gone, or the folder cannot be written.
    """
    source = ModelData(tagger.model)
    held_out = source.held_out()
    if held_out is not None:
        split, files = held_out
        known = training_entities(
            (sentence.tokens, labels_to_spans(sentence.labels or ()))
            for sentence in source.read(source.training_files())
        )
        analysis = analyse(tagger, source.read(files), split=split, training_entities=known)
        write_analysis(analysis, folder / ANALYSIS_FILE)
        _write_predictions(analysis, folder / PREDICTIONS_FILE)
    return write_report([folder])


def _write_predictions(analysis: RunAnalysis, path: Path) -> None:
    write = WRITERS["conll"].sentence
    try:
        text = "".join(
            write(
                Sentence(record.tokens, features={"gold": record.gold}),
                labels_to_spans(record.predicted),
                analysis.scheme,
            )
            for record in analysis.sentences
        )
    except DataError as error:
        logger.warning("no %s: %s", path.name, error)
        return
    path.write_text(text, encoding="utf-8", newline="")
