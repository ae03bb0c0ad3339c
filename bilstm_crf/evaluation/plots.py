"""The pictures of the report: learning curves, matrices, calibration, thresholds, errors."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from bilstm_crf.evaluation.confidence import Calibration, ThresholdScores
from bilstm_crf.evaluation.error_analysis import NO_ENTITY, ErrorAnalysis
from bilstm_crf.evaluation.figures import FAINT, SERIES, TEXT, draw, fading
from bilstm_crf.evaluation.records import Transitions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ANNOTATED = 30
"""Matrices with more rows carry no numbers: nobody could read them."""


def learning_curves(runs: Mapping[str, Sequence[Mapping[str, Any]]], name: str) -> list[str]:
    """Draw training loss, dev F1 and learning rate over the epochs.

    Args:
        runs: by name of the run, the lines of its ``metrics.jsonl``.
        name: prefix of the ids.

    Returns:
        An SVG element each; a curve that no run has is left out.
    """
    curves = {
        "training loss": [_points(lines, "train_loss") for lines in runs.values()],
        "dev F1 (%)": [_points(lines, "dev", "f1", factor=100) for lines in runs.values()],
        "learning rate": [_points(lines, "learning_rate") for lines in runs.values()],
    }

    from matplotlib.ticker import MaxNLocator

    def curve(title: str, series: list[list[tuple[int, float]]], index: int) -> str:
        def paint(axes: "Axes") -> None:
            for points, colour, run in zip(series, _cycle(len(series)), runs, strict=True):
                marker = "o" if len(points) < 25 else ""
                axes.plot(*zip(*points, strict=True), color=colour, marker=marker, label=run)
            axes.set_xlabel("epoch")
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            if len(runs) > 1:
                axes.legend(labelcolor=TEXT)

        return draw(paint, title=title, name=f"{name}-curve{index}")

    return [
        curve(title, series, index)
        for index, (title, series) in enumerate(curves.items())
        if all(series)
    ]


def transition_matrix(transitions: Transitions, name: str) -> str:
    """Draw the transition scores as a heat map, START above and END at the right."""
    nothing = float("nan")
    rows = [(*transitions.start, nothing)]
    rows += [(*row, end) for row, end in zip(transitions.pairs, transitions.end, strict=True)]
    largest = max((abs(v) for row in rows for v in row if isfinite(v)), default=0.0)
    labels = transitions.labels
    return _matrix(
        fading(rows, largest),
        rows=("START", *labels),
        columns=(*labels, "END"),
        axes_labels=("this label", "then this one"),
        title="transition scores",
        name=f"{name}-transitions",
    )


def confusion_matrix(confusion: Mapping[str, Mapping[str, int]], name: str) -> str:
    """Draw which gold type was predicted as which, ``none`` for no entity."""
    types = sorted({*confusion, *(t for row in confusion.values() for t in row)} - {NO_ENTITY})
    names = [*types, NO_ENTITY]
    counts = [[confusion.get(g, {}).get(p, 0) for p in names] for g in names]
    totals = [sum(row) for row in counts]
    # Shares of the row, so that rare types show; errors in the colour of warning.
    shares = [
        [(count if g == p else -count) / max(1, total) for p, count in enumerate(row)]
        for g, (row, total) in enumerate(zip(counts, totals, strict=True))
    ]
    cells = [[f"{count}" if count else "" for count in row] for row in counts]
    return _matrix(
        fading(shares, 1.0),
        rows=names,
        columns=names,
        axes_labels=("gold", "predicted"),
        title="type confusion",
        name=f"{name}-confusion",
        cells=cells,
    )


def calibration_curve(calibration: Calibration, name: str) -> str:
    """Draw precision against probability; the diagonal is what honest probabilities give."""

    def paint(axes: "Axes") -> None:
        most = max(b.count for b in calibration.bins)
        for found in calibration.bins:
            axes.bar(
                (found.low + found.high) / 2,
                0.25 * found.count / most,
                width=0.09,
                color=SERIES[0],
                alpha=0.25,
            )
        axes.plot([0, 1], [0, 1], color=FAINT, linestyle="--")
        axes.plot(
            [b.probability for b in calibration.bins],
            [b.precision for b in calibration.bins],
            color=SERIES[0],
            marker="o",
        )
        axes.set(xlim=(0, 1.02), ylim=(0, 1.02), xlabel="probability", ylabel="precision")

    return draw(paint, title="calibration of entities", name=f"{name}-calibration", size=(3.7, 2.9))


def threshold_curve(thresholds: Sequence[ThresholdScores], name: str) -> str:
    """Draw precision, recall and F1 when entities below a probability are dropped."""

    def paint(axes: "Axes") -> None:
        cuts = [found.threshold for found in thresholds]
        for score, colour in zip(("precision", "recall", "f1"), SERIES, strict=False):
            values = [getattr(found, score) for found in thresholds]
            axes.plot(cuts, values, color=colour, label=score.replace("f1", "F1"))
        axes.set(ylim=(0, 1.02), xlabel="least probability kept")
        axes.figure.legend(loc="outside lower center", ncols=3, labelcolor=TEXT)

    return draw(paint, title="scores by threshold", name=f"{name}-thresholds", size=(3.7, 2.9))


def error_bars(errors: ErrorAnalysis, name: str) -> str:
    """Draw the classes of each type's entities as shares of a bar."""

    def paint(axes: "Axes") -> None:
        types = list(errors.classes_by_type)[::-1]
        totals = [max(1, sum(errors.classes_by_type[t].values())) for t in types]
        left = [0.0] * len(types)
        for kind, colour in zip(errors.classes, SERIES, strict=False):
            shares = [
                errors.classes_by_type[t][kind] / total
                for t, total in zip(types, totals, strict=True)
            ]
            axes.barh(types, shares, left=left, color=colour, label=kind)
            left = [start + share for start, share in zip(left, shares, strict=True)]
        axes.set(xlim=(0, 1), xlabel="share of the entities of the type")
        axes.grid(visible=False, axis="y")
        axes.figure.legend(loc="outside lower center", ncols=2, labelcolor=TEXT)

    height = 1.6 + 0.26 * len(errors.classes_by_type)
    return draw(paint, title="error classes by type", name=f"{name}-errors", size=(3.9, height))


def _matrix(
    cells_rgba: list[list[tuple[float, ...]]],
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    axes_labels: tuple[str, str],
    title: str,
    name: str,
    cells: Sequence[Sequence[str]] = (),
) -> str:
    def paint(axes: "Axes") -> None:
        axes.imshow(cells_rgba, interpolation="nearest", aspect="equal")
        axes.set_xticks(range(len(columns)), columns, rotation=90)
        axes.set_yticks(range(len(rows)), rows)
        axes.set(ylabel=axes_labels[0], xlabel=axes_labels[1])
        axes.grid(visible=False)
        axes.tick_params(length=0)
        if len(rows) <= _ANNOTATED:
            for y, row in enumerate(cells):
                for x, text in enumerate(row):
                    axes.text(x, y, text, ha="center", va="center", fontsize=7, color=TEXT)

    side = max(3.6, 1.1 + 0.27 * len(rows))
    return draw(paint, title=title, name=name, size=(side, side))


def _points(
    lines: Sequence[Mapping[str, Any]], *keys: str, factor: float = 1.0
) -> list[tuple[int, float]]:
    points = []
    for line in lines:
        value: Any = line
        for key in keys:
            value = None if value is None else value.get(key)
        if value is not None:
            points.append((int(line["epoch"]), factor * float(value)))
    return points


def _cycle(count: int) -> list[str]:
    return [SERIES[i % len(SERIES)] for i in range(count)]
