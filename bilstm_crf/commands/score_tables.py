"""An evaluation and a comparison as tables on standard output."""

from bilstm_crf.console import print_table, say
from bilstm_crf.evaluation.evaluation import Evaluation
from bilstm_crf.evaluation.illegal import IllegalLabels
from bilstm_crf.evaluation.metrics import HEADLINE_READING, AverageScores, EntityScores, TypeScores
from bilstm_crf.evaluation.statistics import Comparison, Difference, Interval, ScoreIntervals


def show_evaluation(evaluation: Evaluation) -> None:
    """Print scores per type, the readings side by side, illegal labels and error classes."""
    scores, intervals = evaluation.readings.headline, evaluation.intervals
    rows = [
        _scores_row(name, found, found.support, intervals.types[name])
        for name, found in scores.types.items()
    ]
    rows += [
        _scores_row("micro avg", scores, scores.support, intervals.micro),
        _scores_row("macro avg", scores.macro, scores.support),
        _scores_row("weighted avg", scores.weighted, scores.support),
    ]
    title = (
        f"{evaluation.analysis.split}: {len(evaluation.sentences)} sentences, "
        f"{scores.num_tokens} tokens, labels in {evaluation.readings.scheme}, "
        f"accuracy {_percent(scores.accuracy)}"
    )
    columns = ["type", "precision", "recall", "F1", "F1 95 % interval", "support"]
    print_table(columns, rows, title=title)
    print_table(
        ["reading", "precision", "recall", "F1", "gold", "predicted", "correct"],
        [
            _reading_row(name, reading)
            for name, reading in sorted(
                evaluation.readings.by_name.items(), key=lambda item: item[0] != HEADLINE_READING
            )
        ],
        title="\nreadings; the first is the headline, used in training and reports",
    )
    print_table(
        ["error class", "entities"],
        [[name, str(count)] for name, count in evaluation.errors.classes.items()],
        title="\nerror classes of SemEval-2013",
    )
    for side, illegal in (
        ("gold", evaluation.readings.gold_illegal),
        ("predicted", evaluation.readings.predicted_illegal),
    ):
        if illegal.labels:
            say(f"note: {_illegal(side, illegal, evaluation)}")
    for note in scores.notes:
        say(f"note: {note}")


def show_comparison(comparison: Comparison, first: str, second: str) -> None:
    """Print the F1 of two systems per type, their difference and how sure it is.

    Args:
        comparison: the numbers.
        first: name of the first system.
        second: name of the second.
    """
    rows = [_difference_row(name, found) for name, found in comparison.types.items()]
    rows.append(_difference_row("all", comparison.micro))
    say(f"A = {first}, B = {second}; {comparison.resamples} resamples of the sentences")
    columns = ["type", "F1 A", "F1 B", "B - A", "95 % interval", "p bootstrap", "p randomisation"]
    print_table(columns, rows)
    if len(comparison.types) > 1:
        say("note: the p-values of the types are not corrected for looking at several types")


def _scores_row(
    name: str,
    scores: EntityScores | TypeScores | AverageScores,
    support: int,
    intervals: ScoreIntervals | None = None,
) -> list[str]:
    numbers = [_percent(value) for value in (scores.precision, scores.recall, scores.f1)]
    return [name, *numbers, "" if intervals is None else _interval(intervals.f1), str(support)]


def _reading_row(name: str, scores: EntityScores) -> list[str]:
    numbers = [_percent(value) for value in (scores.precision, scores.recall, scores.f1)]
    return [name, *numbers, str(scores.support), str(scores.predicted), str(scores.correct)]


def _difference_row(name: str, found: Difference) -> list[str]:
    return [
        name,
        _percent(found.first),
        _percent(found.second),
        f"{100 * found.difference:+.2f}",
        _interval(found.interval),
        f"{found.p_bootstrap:.4f}",
        f"{found.p_randomisation:.4f}",
    ]


def _percent(value: float) -> str:
    return f"{100 * value:.2f}"


def _interval(interval: Interval) -> str:
    return f"{100 * interval.low:.2f} .. {100 * interval.high:.2f}"


def _illegal(side: str, illegal: IllegalLabels, evaluation: Evaluation) -> str:
    first = ""
    if illegal.first is not None:
        sentence, token = illegal.first
        first = f", first in the sentence at {evaluation.sentences[sentence].record.where}"
        first += f", token {token + 1}"
    made = ", ".join(f"{name} {count}" for name, count in illegal.entities.items())
    return (
        f"{illegal.labels} {side} labels in {illegal.sentences} sentences are not well formed in "
        f"{evaluation.readings.scheme}{first}; entities seen in these sentences: {made}"
    )
