"""``bilstm-crf train``: from a configuration to a run folder with a model in it."""

from collections.abc import Sequence
from pathlib import Path

from bilstm_crf.commands.run_folder import RunFolder
from bilstm_crf.commands.seeds import is_of_seeds, resume_seeds, train_seeds
from bilstm_crf.commands.training_run import train_model
from bilstm_crf.commands.training_state import SavedState
from bilstm_crf.config import Config, load_training_config
from bilstm_crf.errors import ConfigError, RunError
from bilstm_crf.training.device import choose_device
from bilstm_crf.training.processes import Processes


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
        Interrupted: SIGINT or SIGTERM came; the state is saved for ``resume``.
    """
    with RunFolder(Path(output_dir or config.output_dir or "runs/model")) as folder:
        _train_new(config, folder, device=device, overwrite=overwrite)
        return folder.model


def resume(run: str | Path, *, device: str = "auto") -> Path:
    """Go on with an interrupted run as if it had not stopped.

    Args:
        run: its folder.
        device: as in :func:`train`; on another one than before, the last digits may differ.

    Returns:
        The model file.

    Raises:
        BilstmCrfError: the folder holds no interrupted run, or its data have changed.
        Interrupted: as in :func:`train`.
    """
    processes = Processes()
    chosen = choose_device(device, processes.local_rank)
    if is_of_seeds(Path(run)):
        resume_seeds(Path(run), device=chosen)
        return RunFolder(Path(run)).model
    with RunFolder(Path(run)) as folder:
        if processes.rank == 0:
            folder.open_existing()
        saved = SavedState(folder)
        train_model(saved.config, folder, device=chosen, processes=processes, saved=saved)
        return folder.model


def train_command(
    config_path: Path | None,
    overrides: Sequence[str],
    *,
    output_dir: Path | None,
    device: str,
    overwrite: bool,
    resume_run: Path | None,
    seeds: int,
) -> None:
    """Do what ``bilstm-crf train`` was asked for; see its help."""
    if resume_run is not None:
        if config_path or overrides or seeds > 1 or output_dir or overwrite:
            raise ConfigError("--resume takes the run's own configuration; give nothing beside it")
        resume(resume_run, device=device)
        return
    if config_path is None:
        raise ConfigError("no configuration; give a YAML file, or --resume RUN")
    config = load_training_config(config_path, overrides)
    place = output_dir or Path(config.output_dir or Path("runs") / config_path.stem)
    if (place / "config.yaml").resolve() == config_path.resolve():
        raise RunError(
            f"{place.resolve()}: the run would write over its own configuration; "
            "choose another --output-dir"
        )
    if seeds > 1:
        train_seeds(config, place, seeds, device=choose_device(device), overwrite=overwrite)
        return
    with RunFolder(place) as folder:
        _train_new(config, folder, device=device, overwrite=overwrite)


def _train_new(config: Config, folder: RunFolder, *, device: str, overwrite: bool) -> None:
    processes = Processes()
    chosen = choose_device(device, processes.local_rank)
    if processes.rank == 0:
        folder.open_new(overwrite=overwrite)
    train_model(config, folder, device=chosen, processes=processes)
