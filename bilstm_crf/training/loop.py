"""The training loop: a generator of what happened, which knows no file and no screen."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bilstm_crf.corpus.batches import Batch, make_batch, plan_batches
from bilstm_crf.corpus.encoding import EncodedCorpus
from bilstm_crf.corpus.forms import FormTable
from bilstm_crf.errors import RunError
from bilstm_crf.evaluation.metrics import EntityScores
from bilstm_crf.model.tagger import TaggerNetwork
from bilstm_crf.training.averaging import WeightAverage
from bilstm_crf.training.early_stopping import EarlyStopping
from bilstm_crf.training.events import EpochDone, StepDone, Stopped
from bilstm_crf.training.language_model import NeighbourWords
from bilstm_crf.training.optimizers import Optimizer
from bilstm_crf.training.precision import trains_in_bf16
from bilstm_crf.training.processes import Processes
from bilstm_crf.training.random_state import load_random_state, random_state
from bilstm_crf.training.schedules import Schedule
from bilstm_crf.training.settings import TrainingSection
from bilstm_crf.training.swapped_entities import EntitySwapper

__all__ = ["EpochDone", "StepDone", "Stopped", "Trainer"]

Sentences = list[NDArray[np.int64]]
"""Numbers of the sentences of some batches."""

_STEPS_AHEAD = 16
"""Steps whose batches are made together."""

_LOSSES_KEPT_ON_GPU = 50
"""Steps between two looks at the losses on a GPU; each look waits for the device."""


class Trainer:
    """Trains a network and yields what happened; everything a resume needs has a state dict.

    Args:
        network: trained in place.
        section: the training settings.
        corpus: training sentences with the model's label ids.
        forms: what the corpus's form ids look like.
        evaluate: scores the network on dev, or None.
        seed: decides the order of the batches; dropout follows torch's own generator.
        processes: the group this process trains in.
        language_model: a second task trained along with the network, on the same device.
        swapper: gives each epoch its own copy of the corpus.
    """

    def __init__(
        self,
        network: TaggerNetwork,
        section: TrainingSection,
        corpus: EncodedCorpus,
        forms: FormTable,
        *,
        evaluate: Callable[[], EntityScores] | None,
        seed: int,
        processes: Processes,
        language_model: NeighbourWords | None = None,
        swapper: EntitySwapper | None = None,
    ):
        self.network, self._section = network, section
        self._corpus, self._forms, self._evaluate = corpus, forms, evaluate
        self._seed, self._processes = seed, processes
        # Where windows of several sentences are read, a batch has as many sentences as without.
        share = len(corpus.sequence_lengths) / max(1, len(corpus))
        self._batch_size = max(1, round(section.batch_size * share))
        self._device = next(network.parameters()).device
        self._bf16 = trains_in_bf16(section.precision, self._device)
        self._language_model, self._swapper = language_model, swapper
        trained = nn.ModuleList([network] if language_model is None else [network, language_model])
        self._optimizer = Optimizer(section.optimizer, trained, clip=section.clip)
        self._schedule = Schedule(section.schedule, section.epochs)
        self._stopping = EarlyStopping(section.patience)
        self._average = WeightAverage(network, section.average) if section.average else None
        self.stop_requested = False
        self._epoch, self._step = 1, 0
        self._loss_sum, self._tokens, self._sentences, self._seconds = 0.0, 0, 0, 0.0

    def run(self) -> Iterator[StepDone | EpochDone]:
        """Train until the last epoch or until dev no longer improves.

        Yields:
            StepDone after each step, EpochDone after each epoch. The state may be saved
            at either.

        Raises:
            RunError: the loss is not finite.
            Stopped: ``stop_requested`` was set; the state is that of the last finished step.
        """
        while self._epoch <= self._section.epochs and not self._stopping.should_stop:
            yield from self._train_epoch()
            yield self._finish_epoch()

    def averaged(self) -> AbstractContextManager[None]:
        """Return a context in which the network holds the weights that are evaluated and saved."""
        return self._average.in_place() if self._average else nullcontext()

    def _train_epoch(self) -> Iterator[StepDone]:
        section = self._section
        if self._swapper is not None:
            self._corpus = self._swapper.corpus((self._seed, self._epoch))
        plan = self._plan_epoch()
        groups = [plan[i : i + section.accumulate] for i in range(0, len(plan), section.accumulate)]
        pending: list[tuple[NDArray[np.int64], Tensor]] = []
        # On the CPU a look at the loss costs nothing; on a GPU it waits for all that was queued.
        patience = 1 if self._device.type == "cpu" else _LOSSES_KEPT_ON_GPU
        started = time.perf_counter() - self._seconds
        self.network.train()
        for group, batches in self._with_batches(groups[self._step :]):
            done = self._epoch - 1 + self._step / len(groups)
            sentences = np.concatenate(group)
            count = self._corpus.count_sentences(sentences)
            sums = self._take_step(batches, count, self._schedule.factor(done))
            pending.append((sentences, sums))
            self._step += 1
            if len(pending) >= patience or self._step == len(groups):
                self._count(pending)
                pending.clear()
                stop = self._agree_to_stop(sums)
                self._seconds = time.perf_counter() - started
                yield StepDone(
                    self._epoch, self._step, len(groups),
                    self._loss_sum / max(1, self._sentences), self._tokens, self._seconds,
                )  # fmt: skip
                if stop:
                    raise Stopped

    def _plan_epoch(self) -> Sentences:
        """Return the batches of the epoch: one pass over the data, or several over small data."""
        section = self._section
        wanted = section.epoch_steps * section.accumulate
        plan: Sentences = []
        passes = 0
        while True:
            one_pass = plan_batches(
                self._corpus.sequence_lengths,
                batch_size=self._batch_size,
                batch_tokens=section.batch_tokens,
                shuffle=(self._seed, self._epoch, passes),
            )
            plan += one_pass
            if not one_pass or len(plan) >= wanted:
                return plan
            passes += 1

    def _with_batches(self, groups: list[Sentences]) -> Iterator[tuple[Sentences, list[Batch]]]:
        """Yield each group of sentences with its batches, which are made some steps ahead.

        Made one after the other, many batches take a third of the time: between two steps of the
        network their code and data would leave the processor's caches.
        """
        share = slice(self._processes.rank, None, self._processes.count)
        for first in range(0, len(groups), _STEPS_AHEAD):
            ahead = groups[first : first + _STEPS_AHEAD]
            made = [
                [
                    make_batch(self._corpus, self._forms, numbers[share]).to(self._device)
                    for numbers in group
                    if len(numbers[share])
                ]
                for group in ahead
            ]
            yield from zip(ahead, made, strict=True)

    def _take_step(self, batches: list[Batch], sentences: int, factor: float) -> Tensor:
        """Sum the gradients of some batches and step; return (loss sum, stop requests).

        Args:
            batches: this process's share.
            sentences: how many the batches of all processes hold.
            factor: on the learning rate.
        """
        losses = torch.zeros((), device=self._device)
        self._optimizer.zero_grad()
        for batch in batches:
            loss, whole = self._loss(batch)
            torch.autograd.backward(whole / sentences)
            losses += loss.detach()
        stop = torch.full((), float(self.stop_requested), device=self._device)
        sums = self._processes.sum_gradients(self._optimizer, torch.stack([losses, stop]))
        if self._average:
            self._average.before_step()
        self._optimizer.step(factor)
        if self._average:
            self._average.after_step()
        return sums

    def _loss(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the loss of the labels, and what is to be minimised: it and the second task's."""
        with torch.autocast(self._device.type, torch.bfloat16, enabled=self._bf16):
            states = self.network.states(batch)
            loss = self.network.loss(batch, states).sum()
        if self._language_model is None:
            return loss, loss
        # The same words in all processes, so that their steps add up to those of one.
        sampled = self._language_model.sample((self._seed, self._epoch, self._step))
        sampled = sampled.to(self._device, non_blocking=True)
        guesses = [self._language_model(one, batch, sampled).sum() for one in states]
        guessing = guesses[0] if len(guesses) == 1 else torch.stack(guesses).mean()
        return loss, loss + guessing

    def _count(self, pending: list[tuple[NDArray[np.int64], Tensor]]) -> None:
        losses = torch.stack([sums[0] for _, sums in pending]).tolist()
        for (sentences, _), loss in zip(pending, losses, strict=True):
            if not math.isfinite(loss):
                raise RunError(self._explain_loss(loss, sentences))
            self._loss_sum += loss
            self._sentences += self._corpus.count_sentences(sentences)
            self._tokens += int(self._corpus.sequence_lengths[sentences].sum())

    def _explain_loss(self, loss: float, sentences: NDArray[np.int64]) -> str:
        places = self._corpus.places
        number = self._corpus.first_sentence(int(sentences[0]))
        first = f", among them the one at {places.where(number)}" if places else ""
        count = self._corpus.count_sentences(sentences)
        rate = self._section.optimizer.learning_rate
        return (
            f"the loss became {loss} in epoch {self._epoch}, on a batch of {count} "
            f"sentences{first}; the usual cause is a learning rate that is too high "
            f"(training.optimizer.learning_rate is {rate:g}); this epoch was not saved as best"
        )

    def _agree_to_stop(self, sums: Tensor) -> bool:
        if self._processes.count == 1:
            return self.stop_requested
        return float(sums[1]) > 0

    def _finish_epoch(self) -> EpochDone:
        before_dev = time.perf_counter()
        dev = None
        if self._evaluate is not None:
            with self.averaged():
                dev = self._evaluate()
        is_best = True
        if dev is not None and dev.support > 0:  # otherwise every F1 is 0 and chooses nothing
            is_best = self._stopping.add(dev.f1)
            self._schedule.epoch_done(dev.f1)
        factor = self._schedule.factor(self._epoch)
        done = EpochDone(
            epoch=self._epoch,
            train_loss=self._loss_sum / max(1, self._sentences),
            dev=dev,
            learning_rate=self._optimizer.learning_rate * factor,
            tokens_per_second=self._tokens / max(self._seconds, 1e-9),
            seconds=self._seconds + time.perf_counter() - before_dev,
            is_best=is_best,
        )
        self._epoch, self._step = self._epoch + 1, 0
        self._loss_sum, self._tokens, self._sentences, self._seconds = 0.0, 0, 0, 0.0
        return done

    def state_dict(self) -> dict[str, Any]:
        """Return everything that decides how training goes on, as tensors and plain types."""
        return {
            "network": self.network.state_dict(),
            "optimizer": self._optimizer.state_dict(),
            "schedule": self._schedule.state_dict(),
            "stopping": self._stopping.state_dict(),
            "average": self._average.state_dict() if self._average else None,
            "language_model": self._language_model.state_dict() if self._language_model else None,
            "random": random_state(),
            "position": {
                "epoch": self._epoch, "step": self._step, "loss_sum": self._loss_sum,
                "tokens": self._tokens, "sentences": self._sentences, "seconds": self._seconds,
            },
        }  # fmt: skip

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where the state was taken."""
        self.network.load_state_dict(state["network"])
        self._optimizer.load_state_dict(state["optimizer"])
        self._schedule.load_state_dict(state["schedule"])
        self._stopping.load_state_dict(state["stopping"])
        if self._average:
            self._average.load_state_dict(state["average"])
        if self._language_model is not None:
            self._language_model.load_state_dict(state["language_model"])
        load_random_state(state["random"])
        position = state["position"]
        self._epoch, self._step = position["epoch"], position["step"]
        self._loss_sum, self._seconds = position["loss_sum"], position["seconds"]
        self._tokens, self._sentences = position["tokens"], position["sentences"]
