"""``bilstm-crf calibrate``: fit a model's temperature on labelled data and store it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bilstm_crf.commands.reading_options import reading_options
from bilstm_crf.console import print_table, say
from bilstm_crf.corpus.data_section import expand_paths
from bilstm_crf.corpus.readers import read_split
from bilstm_crf.evaluation.confidence import Calibration
from bilstm_crf.prediction.calibration import fit_temperature
from bilstm_crf.prediction.model_file import load_model, save_model
from bilstm_crf.prediction.predictor import Tagger


def calibrate_command(
    model: Path, data: Sequence[str], output: Path | None, *, overrides: Sequence[str], device: str
) -> None:
    """Fit the temperature, print how probabilities improve, and write the model.

    Args:
        model: a model file.
        data: labelled files that it was not trained on.
        output: where to write the model; default: in its place.
        overrides: how to read: ``data.x=value`` and ``labels.x=value``.
        device: where to compute.

    Raises:
        BilstmCrfError: the model or the data cannot be used, or the model not be written.
    """
    trained = load_model(model)
    settings = reading_options(overrides).reader_settings()
    tagger = Tagger(trained, device)
    settings = replace(settings, features={**tagger.training_columns, **settings.features})
    sentences = list(read_split(expand_paths(data), settings))
    found = fit_temperature(tagger, sentences)
    target = output or model
    save_model(replace(trained, temperature=found.temperature), target)
    print_table(
        ["", "temperature", "calibration error", "mean probability", "precision"],
        [
            _row("before", trained.temperature, found.before),
            _row("after", found.temperature, found.after),
        ],
        title=f"{found.after.count} predicted entities",
    )
    say(f"model: {target}")


def _row(name: str, temperature: float, calibration: Calibration) -> list[str]:
    count = max(1, calibration.count)
    mean = sum(one.count * one.probability for one in calibration.bins) / count
    precision = sum(one.count * one.precision for one in calibration.bins) / count
    error = calibration.expected_error
    return [name, f"{temperature:.4f}", f"{error:.4f}", f"{mean:.4f}", f"{precision:.4f}"]
