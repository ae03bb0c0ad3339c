"""The state of an interrupted run: all that it needs to go on as if it had not stopped."""

import logging
from pathlib import Path
from typing import Any

import torch

from bilstm_crf.commands.run_folder import RunFolder
from bilstm_crf.commands.run_record import content_hashes
from bilstm_crf.config import Config, load_config, validate
from bilstm_crf.errors import ModelFileError, RunError
from bilstm_crf.prediction.archive import load_archive, save_archive
from bilstm_crf.strict_yaml import Document
from bilstm_crf.training.loop import Trainer
from bilstm_crf.training.processes import Processes
from bilstm_crf.training.random_state import random_state

logger = logging.getLogger(__name__)

FORMAT = "bilstm-crf training state"
VERSION = 1


def save_state(
    path: Path, config: Config, record: dict[str, Any], trainer: Trainer, processes: Processes
) -> None:
    """Write the state, whole or not at all; all processes of the group must call this.

    What training does not change, such as vectors of words that are not in the training data,
    is left out and comes from the same files again.

    Raises:
        RunError: the file cannot be written; an older one is left as it was.
    """
    generators = processes.gather_object(random_state())
    if processes.rank != 0:
        return
    state = trainer.state_dict()
    changing = {name for name, _ in trainer.network.named_parameters()}
    state["network"] = {n: tensor for n, tensor in state["network"].items() if n in changing}
    del state["random"]
    content = {
        "config": config.to_yaml(),
        "record": record,
        "threads": torch.get_num_threads(),
        "trainer": state,
        "generators": generators,
    }
    save_archive(content, path, FORMAT, VERSION)


class SavedState:
    """A state read from a run folder.

    Args:
        folder: the folder of an interrupted run.

    Attributes:
        config: the configuration to go on with.
        record: the record of the run's start.

    Raises:
        ModelFileError: the state is damaged.
        ConfigError: the configuration in the folder is wrong.
        RunError: the configuration in the folder is not that of the run.
    """

    def __init__(self, folder: RunFolder):
        self._path = folder.state
        content = load_archive(folder.state, FORMAT, VERSION)
        try:
            self.config = validate(Document(content["config"], str(folder.state)))
            self.record: dict[str, Any] = content["record"]
            self._threads = int(content["threads"])
            self._trainer, self._generators = dict(content["trainer"]), content["generators"]
        except (KeyError, TypeError, ValueError) as error:
            raise self._damaged(error) from None
        if folder.config.exists():
            found = load_config(folder.config)
            if _without_paths(found) != _without_paths(self.config):
                raise RunError(
                    f"{folder.config}: is not the configuration of the interrupted run, and a run "
                    "goes on with the settings it began with; undo the change, or train anew"
                )
            self.config = found

    def restore(self, trainer: Trainer, record: dict[str, Any], processes: Processes) -> None:
        """Bring a trainer to where the run stopped.

        Args:
            trainer: fresh.
            record: of a run that would start now, to compare with.
            processes: the group; as many as there were.

        Raises:
            RunError: data files have changed, or the number of processes has.
            ModelFileError: the state does not fit the trainer.
        """
        if content_hashes(self.record) != content_hashes(record):
            raise RunError(f"{self._path}: the data files have changed since; train anew instead")
        if len(self._generators) != processes.count:
            raise RunError(
                f"{self._path}: the run had {len(self._generators)} processes, now there are "
                f"{processes.count}; start as many as before"
            )
        for name, before, now in (
            ("versions", self.record["versions"], record["versions"]),
            ("torch threads", self._threads, torch.get_num_threads()),
        ):
            if before != now:
                logger.warning(
                    "%s were %s and are %s: the run goes on, but its last digits may differ",
                    name, before, now,
                )  # fmt: skip
        state = self._trainer
        try:
            state["network"] = {**trainer.network.state_dict(), **state["network"]}
            state["random"] = self._generators[processes.rank]
            trainer.load_state_dict(state)
        except (KeyError, TypeError, ValueError, RuntimeError, AttributeError) as error:
            raise self._damaged(error) from None

    def _damaged(self, error: Exception) -> ModelFileError:
        reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"
        return ModelFileError(f"{self._path}: damaged training state: {reason}; train anew")


def _without_paths(config: Config) -> Config:
    """Return a configuration with all paths blank: files may move, their content is compared."""
    words = config.model.word_embeddings.model_copy(update={"vectors": None})
    return config.model_copy(
        update={
            "output_dir": None,
            "data": config.data.model_copy(update={"train": None, "dev": None, "test": None}),
            "model": config.model.model_copy(update={"word_embeddings": words}),
        }
    )
