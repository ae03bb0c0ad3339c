"""The report: one HTML file about one run or several, which needs nothing but itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from markupsafe import Markup

from bilstm_crf.evaluation import plots
from bilstm_crf.evaluation.counts import EntityCounts, count_entities
from bilstm_crf.evaluation.entities import Entity
from bilstm_crf.evaluation.evaluated import EvaluatedSentence
from bilstm_crf.evaluation.evaluation import Evaluation
from bilstm_crf.evaluation.markup import MarkedText, TypeColours, join_tokens, templates
from bilstm_crf.evaluation.metrics import HEADLINE_READING
from bilstm_crf.evaluation.statistics import (
    Difference,
    SeedSummary,
    compare_systems,
    summarise_seeds,
)

_EXAMPLES = 12


@dataclass(frozen=True)
class ReportedRun:
    """What the report is told of one run.

    Attributes:
        name: of the run.
        epochs: the lines of ``metrics.jsonl``.
        summary: the content of ``report.json``.
        config: the text of ``config.yaml``.
        evaluation: what was worked out about its predictions; None if nothing was evaluated.
    """

    name: str
    epochs: Sequence[Mapping[str, Any]]
    summary: Mapping[str, Any]
    config: str
    evaluation: Evaluation | None


@dataclass(frozen=True)
class Example:
    """A sentence as the report shows it, with a line that says why."""

    caption: str
    gold: MarkedText
    predicted: MarkedText


def render_report(runs: Sequence[ReportedRun], *, title: str) -> str:
    """Return the report as one HTML document.

    Args:
        runs: one run, or several to be set side by side.
        title: of the document.

    Raises:
        ValueError: there is no run.
    """
    if not runs:
        raise ValueError("no run to report on")
    evaluations = [run.evaluation for run in runs if run.evaluation is not None]
    types = sorted({name for found in evaluations for name in found.readings.headline.types})
    several = len(runs) > 1
    return (
        templates()
        .get_template("report.html")
        .render(
            title=title,
            headline=HEADLINE_READING,
            runs=[_run_values(run, f"run{number}") for number, run in enumerate(runs, 1)],
            hue=TypeColours(types),
            curves=_curves({run.name: run.epochs for run in runs}, "all") if several else [],
            types_side_by_side=_types_side_by_side(runs, types) if several else {},
            comparisons=_comparisons(runs) if several else {},
            spread=_spread(evaluations),
        )
    )


def _run_values(run: ReportedRun, name: str) -> dict[str, Any]:
    dev = run.summary.get("dev")
    values = {
        "id": name,
        "name": run.name,
        "config": run.config,
        "curves": _curves({run.name: run.epochs}, name),
        "num_epochs": len(run.epochs),
        "best_epoch": run.summary.get("best_epoch"),
        "seconds": run.summary.get("seconds"),
        "dev_f1": None if dev is None else dev["f1"],
        "scores": None,
        "intervals": None,
        "transitions": None,
        "fingerprints": None,
        "wrong_examples": [],
        "suspect_examples": [],
        "first_examples": [],
    }
    if run.evaluation is not None:
        values |= _evaluation_values(run.evaluation, name)
    return values


def _evaluation_values(evaluation: Evaluation, name: str) -> dict[str, Any]:
    analysis, errors = evaluation.analysis, evaluation.errors
    calibration, transitions = evaluation.calibration, analysis.transitions
    return {
        "split": analysis.split,
        "scores": evaluation.readings.headline,
        "notes": evaluation.readings.headline.notes,
        "intervals": evaluation.intervals,
        "readings": evaluation.readings.by_name,
        "illegal_gold": evaluation.readings.gold_illegal.labels,
        "illegal_predicted": evaluation.readings.predicted_illegal.labels,
        "errors": errors,
        "confusion": Markup(plots.confusion_matrix(errors.confusion, name)),
        "error_bars": Markup(plots.error_bars(errors, name)),
        "calibration": calibration,
        "calibration_curve": calibration and Markup(plots.calibration_curve(calibration, name)),
        "threshold_curve": calibration
        and Markup(plots.threshold_curve(evaluation.thresholds, name)),
        "transitions": transitions and Markup(plots.transition_matrix(transitions, name)),
        "transitions_width": transitions and 16 * (len(transitions.labels) + 5),
        "fingerprints": analysis.fingerprints,
        "wrong_examples": _wrong_examples(evaluation),
        "suspect_examples": _suspect_examples(evaluation),
        "first_examples": _first_examples(evaluation),
    }


def _curves(runs: Mapping[str, Sequence[Mapping[str, Any]]], name: str) -> list[Markup]:
    return [Markup(curve) for curve in plots.learning_curves(runs, name)]


def _types_side_by_side(
    runs: Sequence[ReportedRun], types: Sequence[str]
) -> dict[str, list[float | None]]:
    table: dict[str, list[float | None]] = {}
    for name in types:
        found = [
            run.evaluation and run.evaluation.readings.headline.types.get(name) for run in runs
        ]
        table[name] = [scores.f1 if scores else None for scores in found]
    return table


def _comparisons(runs: Sequence[ReportedRun]) -> dict[str, Difference]:
    """Compare each run with the first, as far as they were evaluated on the same sentences."""
    first = runs[0].evaluation
    found: dict[str, Difference] = {}
    for run in runs[1:]:
        other = run.evaluation
        if first is None or other is None or not _same_gold(first, other):
            continue
        names = [*first.readings.headline.types, *other.readings.headline.types]
        counts = [_counts(evaluation, names) for evaluation in (first, other)]
        found[run.name] = compare_systems(*counts).micro
    return found


def _same_gold(first: Evaluation, second: Evaluation) -> bool:
    return [(s.record.tokens, s.gold) for s in first.sentences] == [
        (s.record.tokens, s.gold) for s in second.sentences
    ]


def _counts(evaluation: Evaluation, types: Sequence[str]) -> EntityCounts:
    sentences = evaluation.sentences
    return count_entities(
        (s.gold for s in sentences), (s.predicted for s in sentences), types=types
    )


def _spread(evaluations: Sequence[Evaluation]) -> SeedSummary | None:
    if len(evaluations) < 2:
        return None
    return summarise_seeds([found.readings.headline.f1 for found in evaluations])


def _example(sentence: EvaluatedSentence, caption: str) -> Example:
    record = sentence.record
    place = f"{PurePath(record.where).name}: " if record.where else ""
    return Example(
        place + caption,
        join_tokens(record.tokens, sentence.gold, dict(sentence.gold_probabilities)),
        join_tokens(record.tokens, sentence.predicted, dict(sentence.predicted_probabilities)),
    )


def _wrong_examples(evaluation: Evaluation) -> list[Example]:
    return [
        _example(evaluation.sentences[wrong.sentence], f"probability {wrong.probability:.3f}")
        for wrong in evaluation.sure_and_wrong[:_EXAMPLES]
    ]


def _suspect_examples(evaluation: Evaluation) -> list[Example]:
    examples = []
    for suspect in evaluation.suspects[:_EXAMPLES]:
        sentence = evaluation.sentences[suspect.sentence]
        gold, found = (_named(sentence, entity) for entity in (suspect.gold, suspect.predicted))
        caption = f"gold has {gold}, the model {found} (doubt {suspect.doubt:.3f})"
        examples.append(_example(sentence, caption))
    return examples


def _named(sentence: EvaluatedSentence, entity: Entity | None) -> str:
    return "nothing" if entity is None else f"“{sentence.text(entity)}” as {entity[2]}"


def _first_examples(evaluation: Evaluation) -> list[Example]:
    with_entities = [s for s in evaluation.sentences if s.gold or s.predicted]
    return [
        _example(sentence, "right" if sentence.gold == sentence.predicted else "wrong")
        for sentence in with_entities[:_EXAMPLES]
    ]
