"""The end of a run: the best model scored on dev and test, and the reports."""

import logging
from dataclasses import replace

import torch

from bilstm_crf.commands.run_folder import RunFolder
from bilstm_crf.commands.run_report import write_run_report
from bilstm_crf.commands.training_setup import TrainingSetUp
from bilstm_crf.config import Config
from bilstm_crf.console import say
from bilstm_crf.errors import BilstmCrfError
from bilstm_crf.evaluation.metrics import EntityScores
from bilstm_crf.evaluation.text_report import classification_text
from bilstm_crf.prediction.model_file import TrainedModel, load_model, save_model
from bilstm_crf.prediction.predictor import Tagger
from bilstm_crf.training.entity_threshold import WITHOUT_DEV, best_entity_threshold

logger = logging.getLogger(__name__)


def score_best_model(
    folder: RunFolder, config: Config, run: TrainingSetUp, device: torch.device, *, seconds: float
) -> float | None:
    """Score the model file of a run and finish it with its reports.

    Args:
        folder: holds the model of the best epoch; its state is removed at the end.
        config: of the run.
        run: holds dev and test.
        device: where to compute.
        seconds: what training took.

    Returns:
        F1 on dev, or None without dev data.
    """
    best = _with_entity_threshold(load_model(folder.model), run, device)
    scores = _score(best, run, device)
    if config.training.half:
        whole, best = scores, best.in_half()
        scores = _score(best, run, device)
        for name, result in scores.items():
            before = whole[name].f1
            say(
                f"{name} F1 with weights in float16: {100 * result.f1:.2f} "
                f"(float32: {100 * before:.2f}, {100 * (result.f1 - before):+.2f})"
            )
    record = {name: result.as_dict() for name, result in scores.items()}
    save_model(best.with_record(scores=record), folder.model)
    final = scores.get("test", scores.get("dev"))
    if final is not None:
        folder.write_text("report.txt", classification_text(final, digits=4) + "\n")
    folder.write_json(
        "report.json",
        {
            **record,
            "best_epoch": best.record["epoch"],
            "seed": config.seed,
            "seconds": round(seconds, 1),
            "model": folder.model.name,
            "weights_sha256": best.weights_hash(),
        },
    )
    if not scores:
        logger.info("no data.dev and no data.test: nothing to score")
    _write_page(folder, Tagger(best, str(device)))
    folder.state.unlink(missing_ok=True)
    for name, result in scores.items():
        numbers = f"P {100 * result.precision:.2f} R {100 * result.recall:.2f}"
        say(f"{name} F1 {100 * result.f1:.2f} ({numbers}, {result.support} entities)")
    say(f"model: {folder.model}")
    return scores["dev"].f1 if "dev" in scores else None


def _with_entity_threshold(
    model: TrainedModel, run: TrainingSetUp, device: torch.device
) -> TrainedModel:
    """Return the model with the threshold that is best on dev, if it is to be found here."""
    crf = model.section.crf
    if crf.decoding != "expected_f1" or crf.entity_threshold != "auto":
        return model
    threshold = WITHOUT_DEV
    if run.dev is not None:
        threshold = best_entity_threshold(model.network().to(device), run.dev)
        logger.info(
            "entities are predicted from a probability of %g on, the best on dev", threshold
        )
    crf = crf.model_copy(update={"entity_threshold": threshold})
    return replace(model, section=model.section.model_copy(update={"crf": crf}))


def _write_page(folder: RunFolder, tagger: Tagger) -> None:
    """Write the report for people; the run is good without it."""
    try:
        page = write_run_report(folder.path, tagger)
    except BilstmCrfError as error:
        logger.warning("no report page: %s", error)
    else:
        logger.info("report: %s", page)


def _score(
    model: TrainedModel, run: TrainingSetUp, device: torch.device
) -> dict[str, EntityScores]:
    network = model.network().to(device)
    scores = {}
    for name, data in (("dev", run.dev), ("test", run.test)):
        if data is None:
            continue
        predicted = data.decode(network)
        scores[name] = data.score_labels(predicted)
        if malformed := data.count_malformed(predicted):
            logger.warning(
                "%s: %d of %d predicted label sequences are malformed in %s and were read by the "
                "rule for such; model.crf.constraints: decode rules them out",
                name, malformed, len(predicted), model.scheme,
            )  # fmt: skip
    return scores
