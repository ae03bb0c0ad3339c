"""A run that stops and goes on ends as one that did not stop, to the last bit."""

import json
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

TIMES = ("seconds", "tokens_per_second")
VARIANTS: dict[str, dict[str, Any]] = {
    "adamw": {"average": 0.9, "checkpoint_steps": 3},
    "sgd": {
        "optimizer": {"type": "sgd", "learning_rate": 0.05},
        "schedule": {"type": "plateau", "patience": 1},
        "patience": 3,
        "accumulate": 2,
    },
}


class Killed(BaseException):
    """Stands for a kill that leaves the program no time for anything."""


def ending(run: Path) -> tuple[str, list[dict[str, Any]]]:
    """Return what must be equal: the hash of the weights, and the metrics but for times."""
    report = json.loads((run / "report.json").read_text(encoding="utf-8"))
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    metrics = [json.loads(line) for line in lines]
    return report["weights_sha256"], [
        {k: v for k, v in line.items() if k not in TIMES} for line in metrics
    ]


def at_step(monkeypatch: pytest.MonkeyPatch, number: int, act: Callable[[], None]) -> None:
    """Do something after the step of this number, counted over all epochs."""
    steps = iter(range(1, 10_000))
    show = EpochBar.show

    def count(*arguments: Any) -> None:
        show(*arguments)
        if next(steps) == number:
            act()

    monkeypatch.setattr(EpochBar, "show", count)


def send(number: int) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), number)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("step", [1, 6, 8])
def test_stopped_by_a_signal(
    command: Callable, make_config: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    variant: str, step: int,
) -> None:  # fmt: skip
    config = make_config(epochs=4, **VARIANTS[variant])
    assert command("train", config, "--output-dir", tmp_path / "whole").code == 0
    with monkeypatch.context() as patch:
        at_step(patch, step, send(signal.SIGTERM))
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
    command: Callable, make_config: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(epochs=3, average=0.9)
    command("train", config, "--output-dir", tmp_path / "whole")
    arguments: list[object] = [config, "--output-dir", tmp_path / "run"]
    for _ in range(20):
        with monkeypatch.context() as patch:
            at_step(patch, 2, send(signal.SIGINT))
            done = command("train", *arguments)
        arguments = ["--resume", tmp_path / "run"]
        if done.code == 0:
            break
        assert done.code == 130
    assert ending(tmp_path / "run") == ending(tmp_path / "whole")


@pytest.mark.parametrize("step", [2, 5, 9])
def test_killed(
    command: Callable, make_config: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    step: int,
) -> None:  # fmt: skip
    config = make_config(epochs=3, checkpoint_steps=2)
    command("train", config, "--output-dir", tmp_path / "whole")

    def kill() -> None:
        raise Killed

    with monkeypatch.context() as patch:
        at_step(patch, step, kill)
        with pytest.raises(Killed):
            command("train", config, "--output-dir", tmp_path / "run")
    assert command("train", "--resume", tmp_path / "run").code == 0
    assert ending(tmp_path / "run") == ending(tmp_path / "whole")


@pytest.mark.parametrize("write", range(1, 9))
def test_killed_in_the_middle_of_a_write(
    command: Callable, make_config: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    write: int,
) -> None:  # fmt: skip
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
    command: Callable, make_config: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(epochs=3, average=0.9)
    command("train", config, "--output-dir", tmp_path / "whole")
    score, calls = HeldOut.score, iter(range(1, 100))

    def interrupted(self: HeldOut, network: Any) -> Any:
        if next(calls) == 2:
            send(signal.SIGINT)()
        return score(self, network)

    with monkeypatch.context() as patch:
        patch.setattr(HeldOut, "score", interrupted)
        stopped = command("train", config, "--output-dir", tmp_path / "run")
    assert stopped.code == 130
    assert "epoch 2/3" not in stopped.err
    assert command("train", "--resume", tmp_path / "run").code == 0
    assert ending(tmp_path / "run") == ending(tmp_path / "whole")


def test_stopped_while_the_best_model_is_scored(
    command: Callable, make_config: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(epochs=2)
    command("train", config, "--output-dir", tmp_path / "whole")
    score, calls = HeldOut.score, iter(range(1, 100))

    def interrupted(self: HeldOut, network: Any) -> Any:
        if next(calls) == 4:
            send(signal.SIGTERM)()
        return score(self, network)

    with monkeypatch.context() as patch:
        patch.setattr(HeldOut, "score", interrupted)
        stopped = command("train", config, "--output-dir", tmp_path / "run")
    assert stopped.code == 143
    assert command("train", "--resume", tmp_path / "run").code == 0
    assert ending(tmp_path / "run") == ending(tmp_path / "whole")


def test_stopped_before_the_first_step(
    command: Callable, make_config: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = corpora.read_split

    def interrupted(*arguments: Any) -> Any:
        send(signal.SIGTERM)()
        return read(*arguments)

    config = make_config(epochs=1)
    with monkeypatch.context() as patch:
        patch.setattr(corpora, "read_split", interrupted)
        stopped = command("train", config, "--output-dir", tmp_path / "run")
    assert stopped.code == 143
    assert stopped.err.splitlines()[-1] == "stopped"
    assert command("train", config, "--output-dir", tmp_path / "run").code == 0


def test_a_second_signal_stops_at_once_and_the_last_state_serves(
    command: Callable, make_config: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(epochs=3)
    command("train", config, "--output-dir", tmp_path / "whole")

    def twice() -> None:
        send(signal.SIGINT)()
        send(signal.SIGINT)()

    with monkeypatch.context() as patch:
        at_step(patch, 6, twice)
        stopped = command("train", config, "--output-dir", tmp_path / "run")
    assert stopped.code == 130
    assert command("train", "--resume", tmp_path / "run").code == 0
    assert ending(tmp_path / "run") == ending(tmp_path / "whole")


def test_several_seeds_go_on_where_they_stopped(
    command: Callable, make_config: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(epochs=2)
    command("train", config, "--output-dir", tmp_path / "whole", "--seeds", 2)
    with monkeypatch.context() as patch:
        at_step(patch, 11, send(signal.SIGINT))
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
    command: Callable, make_config: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"word{number} " + " ".join(["0.25"] * 12) for number in range(20_000)]
    (tmp_path / "vectors.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")
    words = {"size": 12, "vectors": "vectors.txt"}
    config = make_config(epochs=2, model={"word_embeddings": words})
    command("train", config, "--output-dir", tmp_path / "whole")
    with monkeypatch.context() as patch:
        at_step(patch, 6, send(signal.SIGTERM))
        command("train", config, "--output-dir", tmp_path / "run")
    sizes = {name: (tmp_path / "run" / name).stat().st_size for name in ("model.pt", "state.pt")}
    assert sizes["model.pt"] > 2 * 12 * 20_000 > sizes["state.pt"]
    state = torch.load(tmp_path / "run" / "state.pt", weights_only=True)
    assert not [name for name in state["trainer"]["network"] if "stored" in name]
    assert command("train", "--resume", tmp_path / "run").code == 0
    assert ending(tmp_path / "run") == ending(tmp_path / "whole")


# What cannot be resumed


@pytest.fixture
def interrupted_run(
    command: Callable, make_config: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    with monkeypatch.context() as patch:
        at_step(patch, 2, send(signal.SIGTERM))
        command("train", make_config(), "--output-dir", tmp_path / "run")
    return tmp_path / "run"


def test_a_finished_run_says_so(command: Callable, make_config: Callable, tmp_path: Path) -> None:
    command("train", make_config(), "--output-dir", tmp_path / "run")
    done = command("train", "--resume", tmp_path / "run")
    assert done.code == 1
    assert done.err == f"error: {tmp_path}/run: this run is finished; there is nothing to resume\n"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: None, "no such folder"),
        (lambda path: path.mkdir(), "no interrupted run in it"),
        (lambda path: path.write_text("x"), "is a file, expected a run folder"),
    ],
)
def test_a_folder_without_an_interrupted_run(
    command: Callable, tmp_path: Path, make: Callable[[Path], None], said: str
) -> None:
    make(tmp_path / "run")
    done = command("train", "--resume", tmp_path / "run")
    assert done.code == 1
    assert done.err.startswith(f"error: {tmp_path}/run: {said}")


def test_changed_data_or_settings_are_refused(command: Callable, interrupted_run: Path) -> None:
    settings = interrupted_run / "config.yaml"
    before = settings.read_text(encoding="utf-8")
    settings.write_text(before.replace("epochs: 3", "epochs: 30"), encoding="utf-8")
    changed = command("train", "--resume", interrupted_run)
    assert changed.code == 1
    assert "is not the configuration of the interrupted run" in changed.err
    settings.write_text(before, encoding="utf-8")
    data = interrupted_run.parent / "train.conll"
    data.write_text(data.read_text(encoding="utf-8") + "\nmore O\n", encoding="utf-8")
    changed = command("train", "--resume", interrupted_run)
    assert changed.code == 1
    assert "the data files have changed since" in changed.err
    data.unlink()
    gone = command("train", "--resume", interrupted_run)
    assert gone.code == 1
    assert f"data.train: {data}: no such file" in gone.err


def test_data_may_move(command: Callable, interrupted_run: Path) -> None:
    elsewhere = interrupted_run.parent / "elsewhere"
    elsewhere.mkdir()
    for file in interrupted_run.parent.glob("*.conll"):
        file.rename(elsewhere / file.name)
    settings = interrupted_run / "config.yaml"
    text = settings.read_text(encoding="utf-8")
    moved = text.replace(f"{interrupted_run.parent}/", f"{elsewhere}/")
    settings.write_text(moved, encoding="utf-8")
    assert command("train", "--resume", interrupted_run).code == 0


def test_other_conditions_are_warned_of(
    command: Callable, interrupted_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 7)
    done = command("train", "--resume", interrupted_run)
    assert done.code == 0
    assert "warning: torch threads were 1 and are 7: the run goes on" in done.err


@pytest.mark.parametrize("damage", ["cut", "foreign", "other"])
def test_a_damaged_state_is_refused(command: Callable, interrupted_run: Path, damage: str) -> None:
    state = interrupted_run / "state.pt"
    if damage == "cut":
        state.write_bytes(state.read_bytes()[:-100])
    elif damage == "foreign":
        torch.save({"weights": torch.zeros(3)}, state)
    else:
        content = torch.load(state, weights_only=True)
        content["trainer"]["network"].popitem()
        content["trainer"]["optimizer"] = {"dense": 3}
        torch.save(content, state)
    done = command("train", "--resume", interrupted_run)
    assert done.code == 1
    assert done.err.splitlines()[-1].startswith(f"error: {state}: ")
    assert "Traceback" not in done.err


@pytest.mark.slow
def test_killed_for_real(make_config: Callable, command: Callable, tmp_path: Path) -> None:
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
