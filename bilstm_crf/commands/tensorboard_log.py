"""Curves for TensorBoard, from the events that also make ``metrics.jsonl``."""

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from bilstm_crf.errors import MissingExtraError
from bilstm_crf.training.loop import EpochDone

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


class TensorBoardLog:
    """Writes a point on each curve after each epoch.

    Args:
        folder: the run folder; the curves go into its folder ``tensorboard``.

    Raises:
        MissingExtraError: the package is not installed.
    """

    def __init__(self, folder: Path):
        if importlib.util.find_spec("tensorboard") is None:
            raise MissingExtraError("tensorboard", "tensorboard", "training.tensorboard")
        self._folder = folder / "tensorboard"
        self._writer: SummaryWriter | None = None

    def add(self, event: EpochDone) -> None:
        """Add an epoch; what an interrupted run wrote from that epoch on is replaced."""
        if self._writer is None:
            from torch.utils.tensorboard import SummaryWriter

            self._writer = SummaryWriter(str(self._folder), purge_step=event.epoch)
        points = {
            "train/loss": event.train_loss,
            "train/learning_rate": event.learning_rate,
            "train/tokens_per_second": event.tokens_per_second,
        }
        if event.dev is not None:
            points |= {f"dev/{n}": getattr(event.dev, n) for n in ("f1", "precision", "recall")}
        for name, value in points.items():
            self._writer.add_scalar(name, value, event.epoch)
        self._writer.flush()

    def close(self) -> None:
        """Close the file."""
        if self._writer is not None:
            self._writer.close()
