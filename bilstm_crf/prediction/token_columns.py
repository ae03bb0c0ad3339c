"""What stands behind the label of a token line: probabilities as text."""

from collections.abc import Iterable, Iterator, Sequence

_LEAST_MARGINAL = 0.001
"""Labels less probable than this are not listed."""


def probability_cells(
    token_probabilities: Sequence[float] | None,
    marginals: Iterable[Iterable[tuple[str, float]]] | None,
) -> Iterator[list[str]]:
    """Yield the further cells of each token, of those that were asked for.

    Args:
        token_probabilities: how probable each token's entity is, or that it is in none.
        marginals: for each token the model's labels and their probabilities.
    """
    columns: list[Iterable[str]] = []
    if token_probabilities is not None:
        columns.append(f"{value:.4f}" for value in token_probabilities)
    if marginals is not None:
        columns.append(map(_marginals_cell, marginals))
    for cells in zip(*columns, strict=True):
        yield list(cells)


def _marginals_cell(labels: Iterable[tuple[str, float]]) -> str:
    ranked = sorted(labels, key=_by_falling_probability)
    return "|".join(f"{name}={value:.4f}" for name, value in ranked if value >= _LEAST_MARGINAL)


def _by_falling_probability(label: tuple[str, float]) -> float:
    return -label[1]
