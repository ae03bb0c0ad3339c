"""A CRF that answers every question by listing all label paths: slow, plain and independent.

One sentence at a time, in lists of Python floats; nothing of it is shared with the package.
"""

import itertools
import math
from collections.abc import Iterator, Sequence

Path = tuple[int, ...]


def log_sum_exp(values: Sequence[float]) -> float:
    """Return the log of the sum of exponentials, minus infinity for none."""
    top = max(values, default=-math.inf)
    if top == -math.inf:
        return -math.inf
    return top + math.log(math.fsum(math.exp(value - top) for value in values))


class ReferenceCRF:
    """All paths of one sentence with their scores.

    Args:
        start: score of each first label.
        transitions: ``[i][j]`` scores label i followed by label j.
        end: score of each last label.
        emissions: score of each label at each token.
        allowed: whether each token may have each label; all of them when None.
    """

    def __init__(
        self,
        start: Sequence[float],
        transitions: Sequence[Sequence[float]],
        end: Sequence[float],
        emissions: Sequence[Sequence[float]],
        allowed: Sequence[Sequence[bool]] | None = None,
    ):
        self.start, self.transitions, self.end = start, transitions, end
        self.emissions, self.allowed = emissions, allowed
        self.scores = {path: self.path_score(path) for path in self._paths()}
        self.log_partition = log_sum_exp(list(self.scores.values()))

    def _paths(self) -> Iterator[Path]:
        labels = range(len(self.start))
        for path in itertools.product(labels, repeat=len(self.emissions)):
            if self.allowed is None or all(self.allowed[t][i] for t, i in enumerate(path)):
                yield path

    def path_score(self, path: Path) -> float:
        if not path:
            return 0.0
        parts = [self.start[path[0]], self.end[path[-1]]]
        parts += [self.emissions[t][label] for t, label in enumerate(path)]
        parts += [self.transitions[one][two] for one, two in itertools.pairwise(path)]
        return -math.inf if -math.inf in parts else math.fsum(parts)

    def log_likelihood(self, path: Path) -> float:
        return self.path_score(path) - self.log_partition

    def probability(self, path: Path) -> float:
        return math.exp(self.scores[path] - self.log_partition)

    def probability_that(self, holds) -> float:
        """Return the probability of all paths for which a function holds."""
        return math.fsum(self.probability(path) for path in self.scores if holds(path))

    def viterbi(self) -> float:
        """Return the best score."""
        return max(self.scores.values())

    def k_best(self, k: int) -> list[float]:
        """Return the best k scores."""
        return sorted((s for s in self.scores.values() if s > -math.inf), reverse=True)[:k]

    def marginals(self) -> list[list[float]]:
        return [
            [self.probability_that(lambda path, t=t, i=i: path[t] == i) for i in self._labels()]
            for t in range(len(self.emissions))
        ]

    def pair_marginals(self) -> list[list[list[float]]]:
        return [
            [
                [
                    self.probability_that(lambda path, t=t, pair=(i, j): path[t : t + 2] == pair)
                    for j in self._labels()
                ]
                for i in self._labels()
            ]
            for t in range(len(self.emissions) - 1)
        ]

    def span_probability(self, start: int, allowed: Sequence[Sequence[bool]]) -> float:
        """Return the probability that the labels from a token on are among those allowed."""
        return self.probability_that(
            lambda path: all(
                labels[label] for label, labels in zip(path[start:], allowed, strict=False)
            )
        )

    def entropy(self) -> float:
        probabilities = [self.probability(path) for path in self.scores]
        return -math.fsum(p * math.log(p) for p in probabilities if p)

    def _labels(self) -> range:
        return range(len(self.start))
