"""The per-type score table as plain text, laid out as seqeval's classification report."""

from bilstm_crf.evaluation.metrics import AverageScores, EntityScores

_COLUMNS = ("precision", "recall", "f1-score", "support")


def classification_text(scores: EntityScores, *, digits: int = 2) -> str:
    """Write one row a type, then the micro, macro and weighted averages.

    Equal to seqeval's ``classification_report`` character for character where that can
    be printed at all; without any entity only the averages remain.

    Args:
        scores: what to print.
        digits: decimals of the scores.
    """
    averages: dict[str, EntityScores | AverageScores] = {
        "micro avg": scores,
        "macro avg": scores.macro,
        "weighted avg": scores.weighted,
    }
    width = max(map(len, (*scores.types, *averages)))
    lines = [f"{'':>{width}} " + "".join(f" {name:>9}" for name in _COLUMNS), ""]

    def add(name: str, precision: float, recall: float, f1: float, support: int) -> None:
        numbers = "".join(f" {value:>9.{digits}f}" for value in (precision, recall, f1))
        lines.append(f"{name:>{width}} {numbers} {support:>9}")

    for name, of_type in scores.types.items():
        add(name, of_type.precision, of_type.recall, of_type.f1, of_type.support)
    lines.append("")
    for name, average in averages.items():
        add(name, average.precision, average.recall, average.f1, scores.support)
    return "\n".join([*lines, ""])
