"""``train --seeds N``: the same configuration trained with several seeds, the best one kept."""

import json
import shutil
from pathlib import Path
from typing import Any

import torch

from bilstm_crf.commands.run_folder import RunFolder
from bilstm_crf.commands.stop_signals import Interrupted
from bilstm_crf.commands.training_run import train_model
from bilstm_crf.commands.training_state import SavedState
from bilstm_crf.config import Config, load_config
from bilstm_crf.console import print_table, say
from bilstm_crf.errors import ConfigError, RunError
from bilstm_crf.evaluation.statistics import summarise_seeds
from bilstm_crf.training.processes import Processes

PLAN = "seeds.json"


def train_seeds(
    config: Config, place: Path, seeds: int, *, device: torch.device, overwrite: bool
) -> None:
    """Train ``seeds`` runs, from ``config.seed`` up, in folders beside each other.

    Raises:
        BilstmCrfError: configuration, data or folder are wrong.
        Interrupted: a signal asked to stop.
    """
    if Processes().count > 1:
        raise ConfigError("--seeds trains in one process; start it without torchrun")
    with RunFolder(place) as parent:
        parent.open_new(overwrite=overwrite)
        parent.clear()
        numbers = list(range(config.seed, config.seed + seeds))
        for seed in numbers:
            with RunFolder(_folder_of(parent, seed)) as folder:
                folder.open_new(overwrite=overwrite)
                folder.clear()
        parent.write_text("config.yaml", config.to_yaml())
        parent.write_json(PLAN, {"seeds": numbers})
        _train_missing(config, parent, numbers, device)


def resume_seeds(place: Path, *, device: torch.device) -> None:
    """Go on with seeds that were interrupted: finished ones stay, the others are trained.

    Raises:
        RunError: all are finished, or the folder is in use.
    """
    with RunFolder(place) as parent:
        if parent.report.exists():
            raise RunError(f"{parent.path}: all seeds are finished; there is nothing to resume")
        parent.take()
        plan = json.loads((parent.path / PLAN).read_text(encoding="utf-8"))
        _train_missing(load_config(parent.config), parent, plan["seeds"], device)


def is_of_seeds(place: Path) -> bool:
    """Return whether a folder holds the runs of several seeds."""
    return (place / PLAN).exists()


def _train_missing(
    config: Config, parent: RunFolder, numbers: list[int], device: torch.device
) -> None:
    for seed in numbers:
        with RunFolder(_folder_of(parent, seed)) as folder:
            if folder.report.exists() and not folder.state.exists():
                say(f"seed {seed}: finished")
                continue
            say(f"seed {seed}")
            try:
                _train_seed(config.model_copy(update={"seed": seed}), folder, device)
            except Interrupted as stop:
                raise Interrupted(
                    f"stopped in seed {seed}; go on with: bilstm-crf train --resume {parent.path}",
                    stop.signal_number,
                ) from None
    _report(parent, [RunFolder(_folder_of(parent, seed)) for seed in numbers])


def _train_seed(config: Config, folder: RunFolder, device: torch.device) -> None:
    if folder.state.exists():
        folder.open_existing()
        saved = SavedState(folder)
        train_model(saved.config, folder, device=device, processes=Processes(), saved=saved)
    else:
        folder.open_new(overwrite=True)
        train_model(config, folder, device=device, processes=Processes())


def _report(parent: RunFolder, folders: list[RunFolder]) -> None:
    """Show the spread of the seeds, and keep the best by dev beside them."""
    reports = [folder.read_report() for folder in folders]
    spread: dict[str, dict[str, Any]] = {}
    for split in ("dev", "test"):
        values = [report[split]["f1"] for report in reports if split in report]
        if values:
            found = summarise_seeds(values)
            spread[split] = {
                "mean": found.mean, "sd": found.sd, "min": min(values), "max": max(values),
                "f1": values,
            }  # fmt: skip
    dev = [report.get("dev", {}).get("f1", 0.0) for report in reports]
    best = dev.index(max(dev))
    for name in ("model.pt", "metrics.jsonl", "report.txt"):
        if (folders[best].path / name).exists():
            shutil.copyfile(folders[best].path / name, parent.path / name)
    parent.write_json("report.json", {**reports[best], "seeds": spread})
    rows = [
        [split, *(f"{100 * numbers[key]:.2f}" for key in ("mean", "sd", "min", "max"))]
        for split, numbers in spread.items()
    ]
    print_table(["F1", "mean", "sd", "min", "max"], rows, title=f"{len(folders)} seeds")
    say(f"best by dev: {folders[best].path.name}, kept as {parent.model}")


def _folder_of(parent: RunFolder, seed: int) -> Path:
    return parent.path / f"seed-{seed}"
