"""What a check found: faults and oddities, each kind once, with its places."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]

PLACES_KEPT = 1000
"""Places kept of one finding; the count goes on."""


@dataclass(frozen=True, slots=True)
class Place:
    """One place of a finding.

    Attributes:
        path: the file.
        line: the line, counted from 1, or None for the whole file.
        detail: what is there.
        repair: what would be there after a repair, empty if none is proposed.
    """

    path: str
    line: int | None = None
    detail: str = ""
    repair: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the place as plain values."""
        place: dict[str, Any] = {"path": self.path, "line": self.line, "detail": self.detail}
        return {**place, "repair": self.repair} if self.repair else place

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        repair = f" -> {self.repair}" if self.repair else ""
        return f"{where}{': ' if self.detail else ''}{self.detail}{repair}"


@dataclass
class Finding:
    """All places of one kind of fault or oddity.

    Attributes:
        severity: ``error`` stops training or changes what is learned, ``warning`` may
            mislead, ``note`` is good to know.
        kind: what it is, as a phrase.
        count: number of places.
        places: the first of them.
    """

    severity: Severity
    kind: str
    count: int = 0
    places: list[Place] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return the finding as plain values."""
        return {
            "severity": self.severity,
            "kind": self.kind,
            "count": self.count,
            "places": [place.as_dict() for place in self.places],
        }


class Findings:
    """Collects places by kind, in the order of their first appearance."""

    def __init__(self) -> None:
        self._by_kind: dict[str, Finding] = {}

    def add(self, severity: Severity, kind: str, place: Place, count: int = 1) -> None:
        """Add a place (standing for ``count`` of them) to the finding of its kind."""
        finding = self._by_kind.setdefault(kind, Finding(severity, kind))
        finding.count += count
        if len(finding.places) < PLACES_KEPT:
            finding.places.append(place)

    def sorted(self) -> list[Finding]:
        """Return the findings, errors first, notes last."""
        order = {"error": 0, "warning": 1, "note": 2}
        return sorted(self._by_kind.values(), key=lambda finding: order[finding.severity])


def count_severity(findings: Iterable[Finding], severity: Severity) -> int:
    """Return how many places of a severity there are."""
    return sum(finding.count for finding in findings if finding.severity == severity)
