"""Folders and states with which a run cannot go on, or not under all conditions."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import torch


@pytest.fixture
def interrupted_run(
    command: Callable, make_config: Callable, tmp_path: Path, signal_after_step: Callable
) -> Path:
    with signal_after_step(2, signal.SIGTERM):
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
