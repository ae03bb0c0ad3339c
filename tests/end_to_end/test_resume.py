"""A run that stops and goes on ends as one that did not stop, to the last bit."""

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from bilstm_crf.commands.run_folder import RunFolder
from bilstm_crf.console import EpochBar
from bilstm_crf.training import corpora
from bilstm_crf.training.corpora import HeldOut

VARIANTS: dict[str, dict[str, Any]] = {
    "adamw": {"average": 0.9, "checkpoint_steps": 3},
    "sgd": {
        "optimizer": {"type": "sgd", "learning_rate": 0.05},
        "schedule": {"type": "plateau", "patience": 1},
        "patience": 3,
        "accumulate": 2,
    },
    "members": {
        "model": {"members": 2, "crf": {"decoding": "expected_f1"}},
        "swap_entities": 0.5,
        "checkpoint_steps": 2,
    },
}


class Killed(BaseException):
    """Stands for a kill that leaves the program no time for anything."""


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("step", [1, 6, 8])
def test_stopped_by_a_signal(
    command: Callable,
    make_config: Callable,
    tmp_path: Path,
    variant: str,
    step: int,
    signal_after_step: Callable,
    ending: Callable,
) -> None:
    config = make_config(epochs=4, **VARIANTS[variant])
    assert command("train", config, "--output-dir", tmp_path / "whole").code == 0
    with signal_after_step(step, signal.SIGTERM):
        stopped = command("train", config, "--output-dir", tmp_path / "run")
    assert stopped.code == 143
    last = stopped.err.splitlines()[-1]
    assert last.endswith(f"go on with: bilstm-crf train --resume {tmp_path}/run")
    assert "Traceback" not in stopped.err
    assert not list((tmp_path / "run").glob("*.tmp"))
    resumed = command("train", "--resume", tmp_path / "run")
    assert resumed.code == 0
    assert "warning" not in resumed.err
    assert ending(tmp_path / "run") == ending(tmp_path / "whole")


def test_stopped_again_and_again(
    command: Callable,
    make_config: Callable,
    tmp_path: Path,
    signal_after_step: Callable,
    ending: Callable,
) -> None:
    config = make_config(epochs=3, average=0.9)
    command("train", config, "--output-dir", tmp_path / "whole")
    arguments: list[object] = [config, "--output-dir", tmp_path / "run"]
    for _ in range(20):
        with signal_after_step(2, signal.SIGINT):
            done = command("train", *arguments)
        arguments = ["--resume", tmp_path / "run"]
        if done.code == 0:
            break
        assert done.code == 130
    assert ending(tmp_path / "run") == ending(tmp_path / "whole")


@pytest.mark.parametrize("step", [2, 5, 9])
def test_killed(
    command: Callable,
    make_config: Callable,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: int,
    ending: Callable,
) -> None:
    config = make_config(epochs=3, checkpoint_steps=2)
    command("train", config, "--output-dir", tmp_path / "whole")

    steps = iter(range(1, 1000))

    def kill(*arguments: Any) -> None:
        if next(steps) == step:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(EpochBar, "show", kill)
        with pytest.raises(Killed):
            command("train", config, "--output-dir", tmp_path / "run")
    assert command("train", "--resume", tmp_path / "run").code == 0
    assert ending(tmp_path / "run") == ending(tmp_path / "whole")


@pytest.mark.parametrize("write", range(1, 9))
def test_killed_in_the_middle_of_a_write(
    command: Callable,
    make_config: Callable,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write: int,
    ending: Callable,
) -> None:
    config = make_config(epochs=2)
    command("train", config, "--output-dir", tmp_path / "whole")
    writes = iter(range(1, 1000))
    replace = os.replace

    def kill(source: Any, target: Any) -> None:
        if next(writes) == write:
            raise Killed
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", kill)
        with pytest.raises(Killed):
            command("train", config, "--output-dir", tmp_path / "run")
    done = command("train", "--resume", tmp_path / "run")
    if write == 1:  # nothing had been saved yet
        assert done.code == 1
        assert "no interrupted run in it" in done.err
        assert command("train", config, "--output-dir", tmp_path / "run").code == 0
    assert ending(tmp_path / "run") == ending(tmp_path / "whole")


def test_stopped_while_dev_is_scored(
    command: Callable,
    make_config: Callable,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ending: Callable,
) -> None:
    config = make_config(epochs=3, average=0.9)
    command("train", config, "--output-dir", tmp_path / "whole")
    decode, calls = HeldOut.decode, iter(range(1, 100))

    def interrupted(self: HeldOut, network: Any) -> Any:
        if next(calls) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return decode(self, network)

    with monkeypatch.context() as patch:
        patch.setattr(HeldOut, "decode", interrupted)
        stopped = command("train", config, "--output-dir", tmp_path / "run")
    assert stopped.code == 130
    assert "epoch 2/3" not in stopped.err
    assert command("train", "--resume", tmp_path / "run").code == 0
    assert ending(tmp_path / "run") == ending(tmp_path / "whole")


def test_stopped_while_the_best_model_is_scored(
    command: Callable,
    make_config: Callable,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ending: Callable,
) -> None:
    config = make_config(epochs=2)
    command("train", config, "--output-dir", tmp_path / "whole")
    decode, calls = HeldOut.decode, iter(range(1, 100))

    def interrupted(self: HeldOut, network: Any) -> Any:
        if next(calls) == 4:
            os.kill(os.getpid(), signal.SIGTERM)
        return decode(self, network)

    with monkeypatch.context() as patch:
        patch.setattr(HeldOut, "decode", interrupted)
        stopped = command("train", config, "--output-dir", tmp_path / "run")
    assert stopped.code == 143
    assert command("train", "--resume", tmp_path / "run").code == 0
    assert ending(tmp_path / "run") == ending(tmp_path / "whole")


def test_stopped_before_the_first_step(
    command: Callable, make_config: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = corpora.read_split

    def interrupted(*arguments: Any) -> Any:
        os.kill(os.getpid(), signal.SIGTERM)
        return read(*arguments)

    config = make_config(epochs=1)
    with monkeypatch.context() as patch:
        patch.setattr(corpora, "read_split", interrupted)
        stopped = command("train", config, "--output-dir", tmp_path / "run")
    assert stopped.code == 143
    assert stopped.err.splitlines()[-1] == "stopped"
    assert command("train", config, "--output-dir", tmp_path / "run").code == 0


def test_a_second_signal_stops_at_once_and_the_last_state_serves(
    command: Callable,
    make_config: Callable,
    tmp_path: Path,
    signal_after_step: Callable,
    ending: Callable,
) -> None:
    config = make_config(epochs=3)
    command("train", config, "--output-dir", tmp_path / "whole")
    with signal_after_step(6, signal.SIGINT, signal.SIGINT):
        stopped = command("train", config, "--output-dir", tmp_path / "run")
    assert stopped.code == 130
    assert command("train", "--resume", tmp_path / "run").code == 0
    assert ending(tmp_path / "run") == ending(tmp_path / "whole")


def test_several_seeds_go_on_where_they_stopped(
    command: Callable,
    make_config: Callable,
    tmp_path: Path,
    signal_after_step: Callable,
    ending: Callable,
) -> None:
    config = make_config(epochs=2)
    command("train", config, "--output-dir", tmp_path / "whole", "--seeds", 2)
    with signal_after_step(11, signal.SIGINT):
        stopped = command("train", config, "--output-dir", tmp_path / "run", "--seeds", 2)
    assert stopped.code == 130
    assert stopped.err.splitlines()[-1] == (
        f"stopped in seed 4; go on with: bilstm-crf train --resume {tmp_path}/run"
    )
    resumed = command("train", "--resume", tmp_path / "run")
    assert resumed.code == 0
    assert "seed 3: finished" in resumed.err
    for seed in ("seed-3", "seed-4", "."):
        assert ending(tmp_path / "run" / seed) == ending(tmp_path / "whole" / seed)


def test_the_state_leaves_out_what_training_does_not_change(
    command: Callable,
    make_config: Callable,
    tmp_path: Path,
    signal_after_step: Callable,
    ending: Callable,
) -> None:
    rows = [f"word{number} " + " ".join(["0.25"] * 12) for number in range(20_000)]
    (tmp_path / "vectors.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")
    words = {"size": 12, "vectors": "vectors.txt"}
    config = make_config(epochs=2, model={"word_embeddings": words})
    command("train", config, "--output-dir", tmp_path / "whole")
    with signal_after_step(6, signal.SIGTERM):
        command("train", config, "--output-dir", tmp_path / "run")
    sizes = {name: (tmp_path / "run" / name).stat().st_size for name in ("model.pt", "state.pt")}
    assert sizes["model.pt"] > 2 * 12 * 20_000 > sizes["state.pt"]
    state = torch.load(tmp_path / "run" / "state.pt", weights_only=True)
    assert not [name for name in state["trainer"]["network"] if "stored" in name]
    assert command("train", "--resume", tmp_path / "run").code == 0
    assert ending(tmp_path / "run") == ending(tmp_path / "whole")


@pytest.mark.slow
def test_killed_for_real(
    make_config: Callable, command: Callable, tmp_path: Path, ending: Callable
) -> None:
    config = make_config(epochs=6, checkpoint_steps=2)
    command("train", config, "--output-dir", tmp_path / "whole")
    script = textwrap.dedent(
        """
        import os, signal, sys
        from bilstm_crf.cli import main
        from bilstm_crf.console import EpochBar
        calls = iter(range(1, 1000))
        EpochBar.show = lambda *a: os.kill(os.getpid(), signal.SIGKILL) if next(calls) == 9 else 0
        main()
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "train", config, "--output-dir", tmp_path / "run"],
        capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL
    assert RunFolder(tmp_path / "run").state.exists()
    assert command("train", "--resume", tmp_path / "run").code == 0
    assert ending(tmp_path / "run") == ending(tmp_path / "whole")
