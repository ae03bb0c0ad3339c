"""One training run: set up, follow the trainer, save what it yields, score the best model."""

import logging
import platform
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import torch

import bilstm_crf
from bilstm_crf.commands.run_folder import RunFolder
from bilstm_crf.config import Config
from bilstm_crf.console import EpochBar, say
from bilstm_crf.corpus.vocabulary import Vocabularies
from bilstm_crf.errors import RunError
from bilstm_crf.evaluation.text_report import classification_text
from bilstm_crf.model.tagger import TaggerNetwork
from bilstm_crf.prediction.model_file import (
    TrainedModel,
    load_archive,
    load_model,
    save_model,
    save_whole,
)
from bilstm_crf.training.corpora import (
    HeldOut,
    fingerprint,
    hold_out,
    read_corpus,
    read_training_corpus,
)
from bilstm_crf.training.loop import EpochDone, StepDone, Stopped, Trainer
from bilstm_crf.training.preparation import (
    PretrainedVectors,
    build_network,
    form_table,
    learn_vocabularies,
    load_vectors,
    log_hit_rates,
)
from bilstm_crf.training.processes import Processes
from bilstm_crf.training.random_state import seed_everything

logger = logging.getLogger(__name__)

STATE_FORMAT = "bilstm-crf training state"


class Interrupted(Exception):
    """Training was stopped by a signal and can be resumed.

    Attributes:
        signal_number: which signal.
    """

    def __init__(self, message: str, signal_number: int):
        super().__init__(message)
        self.signal_number = signal_number


@dataclass(frozen=True)
class TrainingSetUp:
    """All that a run needs before its first step."""

    network: TaggerNetwork
    vocabularies: Vocabularies
    trainer: Trainer
    dev: HeldOut | None
    test: HeldOut | None
    model: TrainedModel


def train_model(
    config: Config,
    folder: RunFolder,
    *,
    device: torch.device,
    processes: Processes,
    resume: bool = False,
) -> float | None:
    """Train one model into an open run folder.

    Args:
        config: the whole configuration, paths absolute.
        folder: open; holds the state to go on from if ``resume``.
        device: where to train.
        processes: the group this process belongs to; only rank 0 writes.
        resume: go on from ``state.pt`` instead of starting.

    Returns:
        The best dev F1; None without dev data, and in all processes but the first.

    Raises:
        BilstmCrfError: whatever is wrong with configuration, data or folder.
        Interrupted: a signal asked to stop; the state is saved.
    """
    writes = processes.rank == 0
    run = _set_up(config, device, processes)
    if resume:
        _load_state(folder, config, run.trainer)
    elif writes:
        folder.write_text("config.yaml", config.to_yaml())
        folder.metrics.unlink(missing_ok=True)
    started = time.perf_counter()
    _follow(run, config, folder, processes)
    processes.stop()
    if not writes:
        return None
    return _finish(run, config, folder, device, time.perf_counter() - started)


def _set_up(config: Config, device: torch.device, processes: Processes) -> TrainingSetUp:
    seed_everything(config.seed)
    logger.info(
        "seed %d, device %s, %d torch threads", config.seed, device, torch.get_num_threads()
    )
    learned = read_training_corpus(config.data, config.labels)
    others = {
        "dev": read_corpus(config.data, config.labels, "dev"),
        "test": read_corpus(config.data, config.labels, "test"),
    }
    words = config.model.word_embeddings
    vectors = None
    if words.vectors is not None and words.size:
        splits = [learned.corpus, *(c for c in others.values() if c is not None)]
        if words.store == "train":
            splits = splits[:1]
        needed = None if words.store == "all" else [f for c in splits for f in c.forms]
        vectors = PretrainedVectors(words, needed)
        log_hit_rates(learned.corpus.form_counts(), vectors)
    vocabularies = learn_vocabularies(learned.corpus, learned.labels, words, vectors)
    network = build_network(config.model, vocabularies, config.labels.model_scheme)
    if vectors is not None:
        load_vectors(network, vocabularies, vectors)
    network.to(device)
    processes.start(device)
    processes.share_weights(network)
    # Each process drops other units, as it works on other sentences.
    torch.manual_seed(config.seed + processes.rank)
    forms = form_table(config.model, vocabularies)
    forms.extend(learned.corpus.forms)
    if forms.num_shortened:
        logger.warning(
            "%d distinct words longer than %d characters: the character encoder sees head and tail",
            forms.num_shortened, config.model.char_encoder.longest,
        )  # fmt: skip
    held = {
        name: None if corpus is None else hold_out(
            corpus, name, form_table(config.model, vocabularies), learned,
            config.labels.model_scheme, vocabularies,
        )
        for name, corpus in others.items()
    }  # fmt: skip
    dev = held["dev"]
    if dev is None:
        logger.warning("no data.dev: every epoch counts as the best, the last one is kept")
    trainer = Trainer(
        network,
        config.training,
        learned.corpus,
        forms,
        evaluate=None if dev is None else lambda: dev.score(network),
        seed=config.seed,
        processes=processes,
    )
    model = TrainedModel(
        section=config.model,
        vocabularies=vocabularies,
        scheme=config.labels.model_scheme,
        file_scheme=learned.scheme,
        weights={},
        record=_record(config),
    )
    logger.info(
        "%d words tuned, %d stored, %d characters, %d labels, %s weights",
        len(vocabularies.words.trained), len(vocabularies.words.stored), len(vocabularies.chars),
        len(vocabularies.labels), f"{sum(p.numel() for p in network.parameters()):,}",
    )  # fmt: skip
    return TrainingSetUp(network, vocabularies, trainer, dev, held["test"], model)


def _record(config: Config) -> dict[str, Any]:
    """Return what a model file says of its making."""
    data = config.data
    splits = {s: data.files(s) for s in ("train", "dev", "test")}
    return {
        "config": config.model_dump(mode="json"),
        "seed": config.seed,
        "data": {
            split: [{"path": str(path), "sha256": fingerprint(path)} for path in paths]
            for split, paths in splits.items()
        },
        "versions": {
            "bilstm-crf": bilstm_crf.__version__,
            "torch": str(torch.__version__),
            "python": platform.python_version(),
        },
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _follow(run: TrainingSetUp, config: Config, folder: RunFolder, processes: Processes) -> None:
    """Run the trainer; save, log and show what it yields."""
    writes = processes.rank == 0
    bar = EpochBar()
    every = config.training.checkpoint_steps
    steps = 0
    with _stop_on_signals(run.trainer) as received:
        try:
            for event in run.trainer.run():
                if isinstance(event, StepDone):
                    steps += 1
                    if writes:
                        bar.show(event.epoch, event.step, event.steps, event.loss,
                                 event.tokens / max(event.seconds, 1e-9))  # fmt: skip
                        if every and steps % every == 0:
                            _save_state(folder, config, run.trainer)
                    continue
                bar.close()
                if writes:
                    _epoch_done(event, run, config, folder)
        except Stopped:
            bar.close()
            if writes:
                _save_state(folder, config, run.trainer)
            number = received[0] if received else signal.SIGTERM
            raise Interrupted(_resume_hint(folder), number) from None
        except KeyboardInterrupt:
            raise Interrupted(_resume_hint(folder), signal.SIGINT) from None
        finally:
            bar.close()


def _resume_hint(folder: RunFolder) -> str:
    best = f"best model so far: {folder.model}; " if folder.model.exists() else ""
    return f"stopped; {best}go on with: bilstm-crf train --resume {folder.path}"


def _epoch_done(event: EpochDone, run: TrainingSetUp, config: Config, folder: RunFolder) -> None:
    dev = event.dev
    if event.is_best:
        with run.trainer.averaged():
            scores = {} if dev is None else {"dev": dev.as_dict()}
            model = run.model.with_record(epoch=event.epoch, scores=scores)
            weights = {n: t.detach().cpu() for n, t in run.network.state_dict().items()}
            save_model(_with_weights(model, weights), folder.model)
    folder.add_metrics(
        {
            "epoch": event.epoch,
            "train_loss": event.train_loss,
            "dev": None
            if dev is None
            else {"precision": dev.precision, "recall": dev.recall, "f1": dev.f1},
            "learning_rate": event.learning_rate,
            "tokens_per_second": round(event.tokens_per_second, 1),
            "seconds": round(event.seconds, 3),
        }
    )
    _save_state(folder, config, run.trainer)
    shown = "" if dev is None else (
        f", dev F1 {100 * dev.f1:.2f} (P {100 * dev.precision:.2f} R {100 * dev.recall:.2f})"
    )  # fmt: skip
    say(
        f"epoch {event.epoch}/{config.training.epochs}: loss {event.train_loss:.4f}{shown}, "
        f"{event.tokens_per_second:,.0f} tokens/s, {event.seconds:.1f} s"
        + (" *" if event.is_best and dev is not None else "")
    )


def _with_weights(model: TrainedModel, weights: dict[str, torch.Tensor]) -> TrainedModel:
    return TrainedModel(
        model.section, model.vocabularies, model.scheme, model.file_scheme, weights, model.record
    )


def _save_state(folder: RunFolder, config: Config, trainer: Trainer) -> None:
    state = {
        "format": STATE_FORMAT,
        "version": 1,
        "config": config.to_yaml(),
        "data": _record(config)["data"],
        "trainer": trainer.state_dict(),
    }
    save_whole(state, folder.state)


def _load_state(folder: RunFolder, config: Config, trainer: Trainer) -> None:
    state = load_archive(folder.state, STATE_FORMAT)
    if state["data"] != _record(config)["data"]:
        raise RunError(f"{folder.path}: the data files have changed since; train anew instead")
    trainer.load_state_dict(state["trainer"])


def _finish(
    run: TrainingSetUp, config: Config, folder: RunFolder, device: torch.device, seconds: float
) -> float | None:
    """Score the best model on dev and test and write the reports."""
    best = load_model(folder.model)
    network = best.network().to(device)
    scores = {
        name: held.score(network)
        for name, held in (("dev", run.dev), ("test", run.test))
        if held is not None
    }
    record = {name: result.as_dict() for name, result in scores.items()}
    save_model(best.with_record(scores=record), folder.model)
    final = scores.get("test", scores.get("dev"))
    if final is not None:
        folder.write_text("report.txt", classification_text(final, digits=4) + "\n")
    folder.write_json(
        "report.json",
        {
            **record,
            "best_epoch": best.record["epoch"],
            "seed": config.seed,
            "seconds": round(seconds, 1),
            "model": folder.model.name,
        },
    )
    folder.state.unlink(missing_ok=True)
    for name, result in scores.items():
        numbers = f"P {100 * result.precision:.2f} R {100 * result.recall:.2f}"
        say(f"{name} F1 {100 * result.f1:.2f} ({numbers}, {result.support} entities)")
    say(f"model: {folder.model}")
    return scores["dev"].f1 if "dev" in scores else None


@contextmanager
def _stop_on_signals(trainer: Trainer) -> Iterator[list[int]]:
    """Let SIGINT and SIGTERM end training after the step at hand; a second one at once."""
    received: list[int] = []

    def handle(number: int, frame: object) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)
        trainer.stop_requested = True
        say("stopping after this step; once more to stop now")

    try:
        before = {n: signal.signal(n, handle) for n in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not in the main thread: signals are not ours to handle
        before = {}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, cast(Any, handler))
