"""What came of the tries of one trial."""

from dataclasses import dataclass, field


@dataclass
class Tally:
    """Counts of outcomes; all but refusals and successes are faults of the program.

    Attributes:
        trial: its name.
        refused: ended with an error in words.
        worked: did what was asked.
        faults: how often each fault came: traceback, hang, crash, lost, different.
        note: a measured number to show beside the counts.
    """

    HEADER = (
        f"{'trial':<14}{'tries':>7}{'refused':>9}{'worked':>8}{'tracebacks':>12}{'hangs':>7}"
        f"{'crashes':>9}{'lost':>6}{'different':>11}  note"
    )

    trial: str
    refused: int = 0
    worked: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    note: str = ""

    def count(self, outcome: str) -> None:
        """Add one try."""
        if outcome == "refused":
            self.refused += 1
        elif outcome == "worked":
            self.worked += 1
        else:
            self.faults[outcome] = self.faults.get(outcome, 0) + 1

    @property
    def is_bad(self) -> bool:
        return bool(self.faults)

    def row(self) -> str:
        """Return the counts as a line under ``HEADER``."""
        tries = self.refused + self.worked + sum(self.faults.values())
        traceback, hang, crash, lost, different = (
            self.faults.get(name, 0) for name in ("traceback", "hang", "crash", "lost", "different")
        )
        return (
            f"{self.trial:<14}{tries:>7,}{self.refused:>9,}{self.worked:>8,}{traceback:>12}"
            f"{hang:>7}{crash:>9}{lost:>6}{different:>11}  {self.note}"
        )
