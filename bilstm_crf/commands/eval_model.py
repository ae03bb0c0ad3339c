"""A trained model scored on labelled files."""

from collections.abc import Sequence
from pathlib import Path

from bilstm_crf.commands.model_data import ModelData
from bilstm_crf.commands.report import ANALYSIS_FILE
from bilstm_crf.commands.run_folder import RUNS, newest_run
from bilstm_crf.corpus.readers import expand_paths
from bilstm_crf.errors import RunError
from bilstm_crf.evaluation.evaluation import Evaluation, evaluate_analysis
from bilstm_crf.evaluation.metrics import EntityScores, score
from bilstm_crf.evaluation.records import read_analysis
from bilstm_crf.prediction.analysis import analyse, predict_labelled
from bilstm_crf.prediction.predictor import Tagger


def evaluate(model: str | Path | Tagger, file: str | Path) -> EntityScores:
    """Score a model on a labelled file by the headline reading.

    Args:
        model: a model file, or a tagger that is already loaded.
        file: labelled sentences, in the layout of the training files.

    Raises:
        BilstmCrfError: the model or the file cannot be used.
    """
    tagger = model if isinstance(model, Tagger) else Tagger.load(model)
    found = predict_labelled(tagger, ModelData(tagger.model).read([Path(file)]))
    return score(found.gold, found.predicted, scheme=found.scheme)


def eval_model(
    model: Path | None = None,
    data: Sequence[str] = (),
    *,
    overrides: Sequence[str] = (),
    device: str = "auto",
) -> Evaluation:
    """Score a model on labelled files, with all that is worked out about its errors.

    Args:
        model: a model file or a run folder; default the newest run in ``runs``.
        data: files or patterns; default the test files of the model's own configuration,
            its dev files where it has none.
        overrides: ``data.x=value`` and ``labels.x=value``, for files laid out unlike those the
            model was trained on.
        device: where to predict.

    Raises:
        BilstmCrfError: there is no run, or model or files cannot be used.
    """
    model = newest_run(RUNS) if model is None else model
    model = model / "model.pt" if model.is_dir() else model
    tagger = Tagger.load(model, device)
    source = ModelData(tagger.model, overrides)
    files = expand_paths(data)
    split = ", ".join(file.name for file in files)
    if not files:
        held_out = source.held_out()
        if held_out is None:
            raise RunError(f"{model}: trained without test and dev files; name a file to score on")
        split, files = held_out
    analysis = analyse(
        tagger,
        source.read(files),
        split=split,
        training_entities=_training_entities(model.parent / ANALYSIS_FILE),
    )
    return evaluate_analysis(analysis)


def _training_entities(known: Path) -> dict[str, tuple[str, ...]] | None:
    """Return the entities of the training data as an earlier analysis of the run has them."""
    if not known.exists():
        return None
    entities = read_analysis(known).training_entities
    return None if entities is None else dict(entities)
