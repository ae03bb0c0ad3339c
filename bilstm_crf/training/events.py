"""What happens in training, as the loop tells it."""

from dataclasses import dataclass

from bilstm_crf.evaluation.metrics import EntityScores


@dataclass(frozen=True)
class StepDone:
    """One optimizer step.

    Attributes:
        epoch: counted from 1.
        step: step in the epoch, counted from 1.
        steps: steps of the epoch.
        loss: mean loss a sentence over the epoch so far.
        tokens: tokens seen in the epoch so far.
        seconds: time of the epoch so far.
    """

    epoch: int
    step: int
    steps: int
    loss: float
    tokens: int
    seconds: float


@dataclass(frozen=True)
class EpochDone:
    """One pass over the training data, and the dev scores after it.

    Attributes:
        epoch: counted from 1.
        train_loss: mean negative log likelihood a sentence.
        dev: entity scores on dev, or None without dev data.
        learning_rate: as it was at the end.
        tokens_per_second: training tokens; the time on dev does not count.
        seconds: training and dev together.
        is_best: whether dev F1 is the best so far (the first of equals), or dev cannot tell
            because there is none or it holds no entities.
    """

    epoch: int
    train_loss: float
    dev: EntityScores | None
    learning_rate: float
    tokens_per_second: float
    seconds: float
    is_best: bool


class Stopped(Exception):
    """Raised at a step's end when a stop was asked for."""
