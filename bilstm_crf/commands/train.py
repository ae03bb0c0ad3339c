"""``bilstm-crf train``: from a configuration to a run folder with a model in it."""

import logging
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bilstm_crf.commands.run_folder import RunFolder
from bilstm_crf.commands.training_run import train_model
from bilstm_crf.config import Config, load_config
from bilstm_crf.console import print_table, say
from bilstm_crf.errors import ConfigError
from bilstm_crf.evaluation.statistics import summarise_seeds
from bilstm_crf.training.device import choose_device
from bilstm_crf.training.processes import Processes

logger = logging.getLogger(__name__)


def train(
    config: Config,
    output_dir: str | Path | None = None,
    *,
    device: str = "auto",
    overwrite: bool = False,
) -> Path:
    """Train a model.

    Args:
        config: what to train on and how; :func:`bilstm_crf.load_config` reads one.
        output_dir: the run folder; default ``config.output_dir``, then ``runs/model``.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:N`` or ``mps``.
        overwrite: replace a run that is already there.

    Returns:
        The model file.

    Raises:
        BilstmCrfError: configuration, data or folder are wrong.
    """
    with RunFolder(Path(output_dir or config.output_dir or "runs/model")) as folder:
        _train_new(config, folder, device=device, overwrite=overwrite)
        return folder.model


def train_command(
    config_path: Path | None,
    overrides: Sequence[str],
    *,
    output_dir: Path | None,
    device: str,
    overwrite: bool,
    resume: Path | None,
    seeds: int,
) -> None:
    """Do what ``bilstm-crf train`` was asked for; see its help."""
    if resume is not None:
        if config_path is not None or overrides or seeds > 1:
            raise ConfigError("--resume takes the run's own configuration; give nothing beside it")
        _resume(resume, device)
        return
    if config_path is None:
        raise ConfigError("no configuration; give a YAML file, or --resume RUN")
    config = load_config(config_path, overrides)
    place = output_dir or Path(config.output_dir or Path("runs") / config_path.stem)
    if seeds > 1:
        _train_seeds(config, place, seeds, device=device, overwrite=overwrite)
        return
    with RunFolder(place) as folder:
        _train_new(config, folder, device=device, overwrite=overwrite)


def _train_new(config: Config, folder: RunFolder, *, device: str, overwrite: bool) -> float | None:
    """Train into a folder; return the best dev F1, None where there is no dev data."""
    processes = Processes()
    chosen = choose_device(device, processes.local_rank)
    if processes.rank == 0:
        folder.open_new(overwrite=overwrite)
    return train_model(config, folder, device=chosen, processes=processes)


def _resume(path: Path, device: str) -> None:
    processes = Processes()
    chosen = choose_device(device, processes.local_rank)
    with RunFolder(path) as folder:
        if processes.rank == 0:
            folder.open_existing()
        config = load_config(folder.config)
        train_model(config, folder, device=chosen, processes=processes, resume=True)


def _train_seeds(config: Config, place: Path, seeds: int, *, device: str, overwrite: bool) -> None:
    """Train several seeds, report their spread and keep the best by dev beside them."""
    with RunFolder(place) as parent:
        parent.open_new(overwrite=overwrite)
        results: dict[str, list[float]] = {"dev": [], "test": []}
        best: tuple[float, RunFolder] | None = None
        for seed in range(config.seed, config.seed + seeds):
            say(f"seed {seed}")
            with RunFolder(place / f"seed-{seed}") as folder:
                changed = config.model_copy(update={"seed": seed})
                dev_f1 = _train_new(changed, folder, device=device, overwrite=overwrite) or 0.0
                report = folder.read_report()
            for split, values in results.items():
                if split in report:
                    values.append(report[split]["f1"])
            if best is None or dev_f1 > best[0]:
                best = dev_f1, folder
        if best is None:
            return
        for name in ("model.pt", "config.yaml", "metrics.jsonl", "report.txt"):
            if (best[1].path / name).exists():
                shutil.copyfile(best[1].path / name, parent.path / name)
        spread = {split: _spread(values) for split, values in results.items() if values}
        parent.write_json("report.json", {**best[1].read_report(), "seeds": spread})
        rows = [
            [split, *(f"{100 * numbers[key]:.2f}" for key in ("mean", "sd", "min", "max"))]
            for split, numbers in spread.items()
        ]
        print_table(["F1", "mean", "sd", "min", "max"], rows, title=f"{seeds} seeds")
        say(f"best by dev: {best[1].path.name}, kept as {parent.model}")


def _spread(values: list[float]) -> dict[str, Any]:
    summary = summarise_seeds(values)
    return {
        "mean": summary.mean,
        "sd": summary.sd,
        "min": min(values),
        "max": max(values),
        "f1": values,
    }
