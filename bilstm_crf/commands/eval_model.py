"""A trained model scored on labelled files."""

from collections.abc import Sequence
from pathlib import Path

from bilstm_crf.commands.report import ANALYSIS_FILE
from bilstm_crf.commands.run_folder import RUNS, newest_run
from bilstm_crf.corpus.data_section import DataSection
from bilstm_crf.corpus.labels import LabelsSection
from bilstm_crf.corpus.readers import expand_paths, read_split
from bilstm_crf.errors import RunError
from bilstm_crf.evaluation.evaluation import Evaluation, evaluate_analysis
from bilstm_crf.evaluation.metrics import EntityScores
from bilstm_crf.evaluation.records import RunAnalysis, read_analysis
from bilstm_crf.prediction.analysis import analyse
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
    analysis = _analyse_files(tagger, [Path(file)], Path(file).name, None)
    return evaluate_analysis(analysis, resamples=1).readings.headline


def eval_model(
    model: Path | None = None, data: Sequence[str] = (), *, device: str = "auto"
) -> Evaluation:
    """Score a model on labelled files.

    Args:
        model: a model file or a run folder; default the newest run in ``runs``.
        data: files or patterns; default the test files of the model's own configuration,
            its dev files where it has none.
        device: where to predict.

    Raises:
        BilstmCrfError: there is no run, or model or files cannot be used.
    """
    model = newest_run(RUNS) if model is None else model
    model = model / "model.pt" if model.is_dir() else model
    tagger = Tagger.load(model, device)
    files = expand_paths(data)
    split = ", ".join(file.name for file in files)
    if not files:
        files, split = _own_files(tagger, model)
    return evaluate_analysis(_analyse_files(tagger, files, split, model.parent / ANALYSIS_FILE))


def _own_files(tagger: Tagger, model: Path) -> tuple[list[Path], str]:
    """Return the test files of the configuration, or its dev files, and which they are."""
    data, _ = _settings_of(tagger)
    if files := data.files("test"):
        return files, "test"
    if files := data.files("dev"):
        return files, "dev"
    raise RunError(f"{model}: trained without test and dev files; name a file to score it on")


def _settings_of(tagger: Tagger) -> tuple[DataSection, LabelsSection]:
    config = tagger.model.record.get("config", {})
    return (
        DataSection.model_validate(config.get("data", {})),
        LabelsSection.model_validate(config.get("labels", {})),
    )


def _analyse_files(
    tagger: Tagger, files: Sequence[Path], split: str, known: Path | None
) -> RunAnalysis:
    """Predict files that are laid out as the training files were.

    Args:
        tagger: the model.
        files: the files.
        split: what to call them.
        known: an earlier analysis, which knows the entities of the training data.
    """
    data, labels = _settings_of(tagger)
    sentences = list(read_split(files, data.reader_settings(labels)))
    entities = read_analysis(known).training_entities if known and known.exists() else None
    return analyse(tagger, sentences, split=split, training_entities=entities)
