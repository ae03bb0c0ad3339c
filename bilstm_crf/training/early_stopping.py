"""When to stop: dev F1 has not risen for a while."""

from typing import Any


class EarlyStopping:
    """Remember the best dev F1; of equal ones the first counts.

    Args:
        patience: epochs without a better F1 before the end, or None to never stop early.
    """

    def __init__(self, patience: int | None):
        self._patience = patience
        self._best: float | None = None
        self._since_best = 0

    def add(self, f1: float) -> bool:
        """Take note of an epoch's F1; return whether it is the best so far."""
        if self._best is None or f1 > self._best:
            self._best, self._since_best = f1, 0
            return True
        self._since_best += 1
        return False

    @property
    def should_stop(self) -> bool:
        return self._patience is not None and self._since_best >= self._patience

    def state_dict(self) -> dict[str, Any]:
        return {"best": self._best, "since_best": self._since_best}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._best, self._since_best = state["best"], state["since_best"]
