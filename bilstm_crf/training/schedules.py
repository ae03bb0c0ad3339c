"""Learning-rate schedules: the factor on the optimizer's rate as training goes on."""

import math
from typing import Annotated, Any, Literal

from pydantic import Field, Tag

from bilstm_crf.section import Section, chosen_by_type


class _WithWarmUp(Section):
    warm_up: float = Field(default=0.0, ge=0)
    """Epochs over which the rate first rises linearly from 0."""


class ConstantSection(_WithWarmUp):
    """The same rate throughout."""

    type: Literal["constant"] = "constant"

    def factor(self, done: float, epochs: int, drops: int) -> float:
        return 1.0


class LinearSection(_WithWarmUp):
    """A straight fall to a final share of the rate."""

    type: Literal["linear"] = "linear"
    final: float = Field(default=0.0, ge=0, le=1)
    """Share of the rate at the end."""

    def factor(self, done: float, epochs: int, drops: int) -> float:
        return 1.0 - (1.0 - self.final) * done / epochs


class CosineSection(_WithWarmUp):
    """A fall along half a cosine (Loshchilov and Hutter 2017, equation 5)."""

    type: Literal["cosine"] = "cosine"
    final: float = Field(default=0.0, ge=0, le=1)
    """Share of the rate at the end."""

    def factor(self, done: float, epochs: int, drops: int) -> float:
        half = 0.5 * (1.0 + math.cos(math.pi * done / epochs))
        return self.final + (1.0 - self.final) * half


class DecaySection(_WithWarmUp):
    """1 / (1 + rate x epochs done), customary with SGD (Ma and Hovy 2016, section 3.2)."""

    type: Literal["decay"] = "decay"
    rate: float = Field(default=0.05, ge=0)
    """How fast the learning rate falls."""

    def factor(self, done: float, epochs: int, drops: int) -> float:
        return 1.0 / (1.0 + self.rate * math.floor(done))


class PlateauSection(_WithWarmUp):
    """A drop each time the dev F1 has not risen for a while."""

    type: Literal["plateau"] = "plateau"
    drop: float = Field(default=0.5, gt=0, lt=1)
    """Factor on the rate at each drop."""

    patience: int = Field(default=3, ge=1)
    """Epochs without a better dev F1 before a drop."""

    def factor(self, done: float, epochs: int, drops: int) -> float:
        return float(self.drop**drops)


ScheduleSection = Annotated[
    Annotated[ConstantSection, Tag("constant")]
    | Annotated[LinearSection, Tag("linear")]
    | Annotated[CosineSection, Tag("cosine")]
    | Annotated[DecaySection, Tag("decay")]
    | Annotated[PlateauSection, Tag("plateau")],
    *chosen_by_type("cosine"),
]


class Schedule:
    """The factor on the learning rate, given how far training is and how dev F1 went.

    Args:
        section: which schedule.
        epochs: epochs planned.
    """

    def __init__(self, section: ScheduleSection, epochs: int):
        self._section, self._epochs = section, epochs
        self._best, self._since_best, self._drops = -1.0, 0, 0

    def factor(self, done: float) -> float:
        """Return the factor after ``done`` epochs, fractions included."""
        factor = self._section.factor(min(done, self._epochs), self._epochs, self._drops)
        warm_up = self._section.warm_up
        return factor * min(1.0, done / warm_up) if warm_up > 0 else factor

    def epoch_done(self, f1: float) -> None:
        """Take note of an epoch's dev F1."""
        if f1 > self._best:
            self._best, self._since_best = f1, 0
            return
        self._since_best += 1
        if isinstance(self._section, PlateauSection) and self._since_best >= self._section.patience:
            self._drops, self._since_best = self._drops + 1, 0

    def state_dict(self) -> dict[str, Any]:
        return {"best": self._best, "since_best": self._since_best, "drops": self._drops}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._best, self._since_best = state["best"], state["since_best"]
        self._drops = state["drops"]
