"""The settings of a training run."""

from typing import Literal

from pydantic import Field, model_validator

from bilstm_crf.section import Section
from bilstm_crf.training.language_model import LanguageModelSection
from bilstm_crf.training.optimizers import AdamWSection, OptimizerSection
from bilstm_crf.training.schedules import CosineSection, ScheduleSection


class TrainingSection(Section):
    """How the model is trained."""

    epochs: int = Field(default=30, ge=1, le=100_000)
    """Most passes over the training data, each followed by a look at dev."""

    epoch_steps: int = Field(default=50, ge=1, le=1_000_000)
    """Fewest steps of an epoch: small data is gone through several times between two looks at
    dev, since a network needs its number of steps, however little there is to learn from."""

    batch_size: int = Field(default=32, ge=1, le=100_000)
    """Most sentences a batch; with several processes, of all of them together."""

    batch_tokens: int | None = Field(default=8000, ge=1)
    """Most tokens a batch, padding included, so that long documents fit into memory."""

    accumulate: int = Field(default=1, ge=1, le=1000)
    """Batches whose gradients are summed before each step."""

    optimizer: OptimizerSection = AdamWSection()
    schedule: ScheduleSection = CosineSection()
    clip: float | None = Field(default=5.0, gt=0)
    """Largest norm of the gradient; null for no limit."""

    swap_entities: float = Field(default=0.0, ge=0, le=1)
    """Chance that training reads another entity of the same type in the place of one; drawn anew
    for each epoch."""

    language_model: LanguageModelSection = LanguageModelSection()
    patience: int | None = Field(default=None, ge=1)
    """Stop after this many epochs without a better dev F1; null to run all epochs."""

    average: float = Field(default=0.998, ge=0, lt=1)
    """Decay per step of the running mean of the weights that is evaluated and saved; 0 for none."""

    precision: Literal["auto", "float32", "bf16"] = "float32"
    """Arithmetic of the network: float32, bf16, or auto, which takes bf16 where the processor has
    instructions for it. The CRF is always in float32."""

    checkpoint_steps: int | None = Field(default=None, ge=1)
    """Save the state for resuming every so many steps as well, not only after each epoch."""

    half: bool = False
    """Store the finished model's weights in float16: half the size; the change of F1 is shown."""

    tensorboard: bool = False
    """Write curves for TensorBoard into the run folder as well; needs the extra `tensorboard`."""

    @model_validator(mode="after")
    def _check(self) -> "TrainingSection":
        warm_up = self.schedule.warm_up
        if warm_up > self.epochs:
            raise ValueError(
                f"schedule.warm_up ({warm_up:g}) is more than training.epochs ({self.epochs})"
            )
        return self
