"""``bilstm-crf eval``: score a model on a file, or label columns that any tool has written."""

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from bilstm_crf.commands.columns import parse_column
from bilstm_crf.commands.json_output import write_json
from bilstm_crf.commands.score_tables import show_evaluation
from bilstm_crf.corpus.data_section import Column
from bilstm_crf.corpus.labels import detect_scheme, scheme_name
from bilstm_crf.corpus.readers import ReaderSettings, read_sentences
from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.errors import ConfigError
from bilstm_crf.evaluation.evaluation import Evaluation, evaluate_analysis
from bilstm_crf.evaluation.records import RunAnalysis, SentenceRecord

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class PredictionColumns:
    """Where gold and predicted labels stand in a file; see :func:`eval_predictions`."""

    gold_column: Column
    predicted_column: Column
    token_column: Column
    delimiter: str
    scheme: str

    @classmethod
    def parse(
        cls, gold: str, predicted: str, token: str, delimiter: str, scheme: str
    ) -> "PredictionColumns":
        """Take the columns as they are typed: a whole number is a place, else it is a name."""
        gold_column, predicted_column, token_column = map(parse_column, (gold, predicted, token))
        return cls(gold_column, predicted_column, token_column, delimiter, scheme)


def eval_command(
    model: Path | None,
    data: Sequence[str],
    predictions: Path | None,
    columns: PredictionColumns,
    *,
    overrides: Sequence[str],
    json: str | None,
    device: str,
) -> None:
    """Do what ``bilstm-crf eval`` was asked for; see its help."""
    if predictions is not None:
        if model is not None:
            raise ConfigError("--predictions needs no model and no other file; leave them out")
        if overrides:
            raise ConfigError("--set goes with a model; --predictions has options for its columns")
        evaluation = eval_predictions(predictions, **asdict(columns))
    else:
        # torch takes seconds to load; scoring a file does not need it
        from bilstm_crf.commands.eval_model import eval_model

        evaluation = eval_model(model, data, overrides=overrides, device=device)
    if json is not None:
        write_json(evaluation.as_dict(), json)
    if json != "-":
        show_evaluation(evaluation)


def eval_predictions(
    path: Path,
    *,
    gold_column: Column = -2,
    predicted_column: Column = -1,
    token_column: Column = 0,
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
        ConfigError: there is no such scheme, or the file is standard input.
    """
    if str(path) == "-":
        raise ConfigError("--predictions -: the columns are read one after the other; give a file")
    settings = ReaderSettings(format="conll", token_column=token_column, delimiter=delimiter)
    gold, predicted = (
        list(read_sentences(path, replace(settings, label_column=column)))
        for column in (gold_column, predicted_column)
    )
    if scheme == "auto":
        scheme = _scheme_of(gold, predicted)
    try:
        scheme = scheme_name(scheme)
    except ValueError as error:
        raise ConfigError(f"--scheme: {error}") from None
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
