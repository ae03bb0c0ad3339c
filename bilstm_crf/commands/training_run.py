"""One training run: follow the trainer, save what it yields, stop cleanly, score the best model."""

import signal
import time
from dataclasses import replace

import torch

from bilstm_crf.commands.final_scores import score_best_model
from bilstm_crf.commands.run_folder import RunFolder
from bilstm_crf.commands.run_record import run_record
from bilstm_crf.commands.stop_signals import Interrupted, StopSignals
from bilstm_crf.commands.tensorboard_log import TensorBoardLog
from bilstm_crf.commands.training_setup import TrainingSetUp, set_up_training
from bilstm_crf.commands.training_state import SavedState, save_state
from bilstm_crf.config import Config, check_files
from bilstm_crf.console import EpochBar, say
from bilstm_crf.errors import RunError
from bilstm_crf.prediction.model_file import save_model
from bilstm_crf.training.loop import EpochDone, StepDone, Stopped
from bilstm_crf.training.processes import Processes


def train_model(
    config: Config,
    folder: RunFolder,
    *,
    device: torch.device,
    processes: Processes,
    saved: SavedState | None = None,
) -> float | None:
    """Train one model into an open run folder.

    Args:
        config: the whole configuration, paths absolute.
        folder: open; only rank 0 writes into it.
        device: where to train.
        processes: the group this process belongs to.
        saved: the state to go on from, instead of starting.

    Returns:
        The best dev F1; None without dev data, and in all processes but the first.

    Raises:
        BilstmCrfError: whatever is wrong with configuration, data or folder.
        Interrupted: a signal asked to stop; the state is saved.
    """
    check_files(config)
    started = time.perf_counter()
    run = _TrainingRun(config, folder, device, processes, saved)
    try:
        run.follow()
        processes.stop()
        if processes.rank != 0:
            return None
        return score_best_model(
            folder, config, run.parts, device, seconds=time.perf_counter() - started
        )
    except (KeyboardInterrupt, Interrupted) as stop:
        best = f"best model so far: {folder.model}; " if folder.model.exists() else ""
        raise Interrupted(
            f"stopped; {best}go on with: bilstm-crf train --resume {folder.path}",
            getattr(stop, "signal_number", signal.SIGINT),
        ) from None


class _TrainingRun:
    """A run under way.

    Args:
        config: the whole configuration.
        folder: open.
        device: where to train.
        processes: the group.
        saved: the state to go on from, if there is one.
    """

    def __init__(
        self,
        config: Config,
        folder: RunFolder,
        device: torch.device,
        processes: Processes,
        saved: SavedState | None,
    ):
        self._config, self._folder, self._processes = config, folder, processes
        self._signals = StopSignals(processes)
        self._board = None
        if config.training.tensorboard and processes.rank == 0:
            self._board = TensorBoardLog(folder.path)
        parts = set_up_training(config, device, processes, self._signals)
        self._record = run_record(config)
        if saved is not None:
            saved.restore(parts.trainer, self._record, processes)
            self._record = {**self._record, "started": saved.record["started"]}
        self.parts: TrainingSetUp = replace(parts, model=parts.model.with_record(**self._record))
        self._is_new = saved is None

    def follow(self) -> None:
        """Run the trainer to its end; save, log and show what it yields."""
        if self._is_new:
            if self._processes.rank == 0:
                self._folder.clear()
            self._save_state()
        if self._processes.rank == 0:
            self._folder.write_text("config.yaml", self._config.to_yaml())
        trainer = self.parts.trainer

        def ask_to_stop() -> None:
            trainer.stop_requested = True

        with self._signals.handled(ask_to_stop):
            try:
                self._follow_events()
            except Stopped:
                self._save_state()
                self._raise_interrupted()
            except Interrupted:
                if len(self._signals.received) == 1:  # while dev was scored, which changes nothing
                    self._save_state()
                raise
            if self._signals.received:
                self._raise_interrupted()

    def _follow_events(self) -> None:
        every = self._config.training.checkpoint_steps
        saved_at = 0
        bar = EpochBar()
        try:
            for event in self.parts.trainer.run():
                if isinstance(event, EpochDone):
                    bar.close()
                    self._epoch_done(event)
                    saved_at = 0
                    continue
                self._show(bar, event)
                if every is not None and event.step - saved_at >= every:
                    self._save_state()
                    saved_at = event.step
        finally:
            bar.close()
            if self._board is not None:
                self._board.close()

    def _show(self, bar: EpochBar, event: StepDone) -> None:
        if self._processes.rank == 0:
            rate = event.tokens / max(event.seconds, 1e-9)
            bar.show(event.epoch, event.step, event.steps, event.loss, rate)

    def _epoch_done(self, event: EpochDone) -> None:
        if self._processes.rank == 0:
            if event.is_best:
                self._save_best(event)
            self._folder.add_metrics(_metrics(event))
            if self._board is not None:
                self._board.add(event)
        self._save_state()
        if self._processes.rank == 0:
            say(_epoch_line(event, self._config.training.epochs))

    def _save_best(self, event: EpochDone) -> None:
        scores = {} if event.dev is None else {"dev": event.dev.as_dict()}
        with self.parts.trainer.averaged():
            weights = {n: t.detach().cpu() for n, t in self.parts.network.state_dict().items()}
            for name, tensor in weights.items():
                if not torch.isfinite(tensor).all():
                    raise RunError(
                        f"the weights {name} are not finite after epoch {event.epoch}, so this "
                        "epoch was not saved as best; the usual cause is a learning rate that is "
                        f"too high (it was {event.learning_rate:g})"
                    )
            model = self.parts.model.with_record(epoch=event.epoch, scores=scores)
            save_model(replace(model, weights=weights), self._folder.model)

    def _save_state(self) -> None:
        save_state(
            self._folder.state, self._config, self._record, self.parts.trainer, self._processes
        )

    def _raise_interrupted(self) -> None:
        received = self._signals.received  # empty where another process was asked to stop
        raise Interrupted("stopped", received[0] if received else signal.SIGTERM)


def _metrics(event: EpochDone) -> dict[str, object]:
    dev = event.dev
    return {
        "epoch": event.epoch,
        "train_loss": _loss(event),
        "dev": None
        if dev is None
        else {"precision": dev.precision, "recall": dev.recall, "f1": dev.f1},
        "learning_rate": event.learning_rate,
        "tokens_per_second": round(event.tokens_per_second, 1),
        "seconds": round(event.seconds, 3),
    }


def _loss(event: EpochDone) -> float:
    # Where only one label path exists its loss is 0, by rounding perhaps a little less.
    return max(0.0, event.train_loss)


def _epoch_line(event: EpochDone, epochs: int) -> str:
    dev = event.dev
    shown = "" if dev is None else (
        f", dev F1 {100 * dev.f1:.2f} (P {100 * dev.precision:.2f} R {100 * dev.recall:.2f})"
    )  # fmt: skip
    best = " *" if event.is_best and dev is not None else ""
    return (
        f"epoch {event.epoch}/{epochs}: loss {_loss(event):.4f}{shown}, "
        f"{event.tokens_per_second:,.0f} tokens/s, {event.seconds:.1f} s{best}"
    )
