"""Rows and spans that do not fit: an error, or repaired by a stated rule and counted."""

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bilstm_crf.errors import DataError

_log = logging.getLogger(__name__)

REPLACEMENT_TOKEN = "\ufffd"
"""Stands for an empty token, so that no token has no character."""


@dataclass(frozen=True, slots=True)
class Malformed:
    """One place of a file that does not fit.

    Attributes:
        path: the file.
        line: the line, counted from 1.
        kind: short name of the fault, the same for all faults of a sort.
        message: what was found and expected.
        repair: what reading with repairs takes instead.
    """

    path: str
    line: int
    kind: str
    message: str
    repair: str


class MalformedRows:
    """Raises or collects the malformed places of one file.

    Args:
        path: the file.
        policy: ``error`` raises at the first; ``repair`` counts and goes on.
        listener: called with each place under ``repair``.
    """

    def __init__(
        self,
        path: Path,
        policy: Literal["error", "repair"],
        listener: Callable[[Malformed], None] | None = None,
    ):
        self._path, self._policy, self._listener = path, policy, listener
        self._counts: Counter[str] = Counter()
        self._first: dict[str, int] = {}

    def add(self, line: int, kind: str, message: str, repair: str) -> None:
        """Take note of one malformed place.

        Raises:
            DataError: under the policy ``error``.
        """
        if self._policy == "error":
            hint = f"(data.on_malformed: repair would take {repair})"
            raise DataError(f"{message} {hint}", self._path, line)
        self._counts[kind] += 1
        self._first.setdefault(kind, line)
        if self._listener:
            self._listener(Malformed(str(self._path), line, kind, message, repair))

    def warn(self) -> None:
        """Log one warning that sums up the repairs, if no listener was told of them."""
        if self._counts and self._listener is None:
            kinds = (
                f"{count} with {kind} (first: line {self._first[kind]})"
                for kind, count in self._counts.items()
            )
            _log.warning("%s: repaired malformed rows: %s", self._path, ", ".join(kinds))
