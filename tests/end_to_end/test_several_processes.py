"""Two processes started by torchrun train as one does, stop as one does, and end together."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

NO_DROPOUT = {"dropout": {"inputs": 0, "outputs": 0, "words": 0}}

ERROR_IN_ONE = """
import os
from bilstm_crf.cli import main
from bilstm_crf.errors import RunError
from bilstm_crf.training.optimizers import Optimizer

step, calls = Optimizer.step, iter(range(1, 1000))

def fail(self, factor):
    if os.environ["RANK"] == "1" and next(calls) == 6:
        raise RunError("this process has had enough")
    step(self, factor)

Optimizer.step = fail
main()
"""


def start(*arguments: object, script: object = None) -> subprocess.Popen[str]:
    program = ["-m", "bilstm_crf"] if script is None else [script]
    command = ["torch.distributed.run", "--standalone", "--nproc-per-node", 2, *program, *arguments]
    return subprocess.Popen(
        [sys.executable, "-m", *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def run_to_end(*arguments: object) -> str:
    process = start(*arguments)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    return output


def losses(run: Path) -> list[tuple[float, float]]:
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    values = [json.loads(line) for line in lines]
    return [(value["train_loss"], value["dev"]["f1"]) for value in values]


def weights_hash(run: Path) -> Any:
    return json.loads((run / "report.json").read_text(encoding="utf-8"))["weights_sha256"]


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_two_processes_follow_the_loss_of_one(
    command: Callable, make_config: Callable, tmp_path: Path, optimizer: str
) -> None:
    # 25 sentences in batches of 6: the last batch leaves one process without any.
    config = make_config(
        sentences=25, epochs=8, patience=3, model=NO_DROPOUT,
        optimizer={"type": optimizer, "learning_rate": 0.05 if optimizer == "sgd" else 0.02},
    )  # fmt: skip
    assert command("train", config, "--output-dir", tmp_path / "one").code == 0
    output = run_to_end("train", config, "--output-dir", tmp_path / "two")
    one, two = losses(tmp_path / "one"), losses(tmp_path / "two")
    assert len(one) == len(two)
    for (loss, f1), (other_loss, other_f1) in zip(one, two, strict=True):
        assert other_loss == pytest.approx(loss, rel=1e-4)
        assert other_f1 == pytest.approx(f1, abs=1e-9)
    assert output.count("epoch 1/8") == 1
    assert "Warning" not in output
    names = {file.name for file in (tmp_path / "two").iterdir()}
    assert names >= {file.name for file in (tmp_path / "one").iterdir()}
    assert not [name for name in names if "tmp" in name or name == "state.pt"]


def test_stopped_processes_save_together_and_go_on_to_the_same_end(
    make_config: Callable, tmp_path: Path
) -> None:
    config = make_config(epochs=25, average=0.9)
    run_to_end("train", config, "--output-dir", tmp_path / "whole")
    process = start("train", config, "--output-dir", tmp_path / "run")
    metrics = tmp_path / "run" / "metrics.jsonl"
    deadline = time.monotonic() + 60
    while not (metrics.exists() and len(metrics.read_bytes().splitlines()) >= 3):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    assert output.count(f"go on with: bilstm-crf train --resume {tmp_path}/run") == 1
    assert "bilstm_crf/" not in output  # no traceback of ours; torchrun shows its own
    assert (tmp_path / "run" / "state.pt").exists()
    run_to_end("train", "--resume", tmp_path / "run")
    assert losses(tmp_path / "run") == losses(tmp_path / "whole")
    assert weights_hash(tmp_path / "run") == weights_hash(tmp_path / "whole")


def test_an_error_in_one_process_ends_all(make_config: Callable, tmp_path: Path) -> None:
    script = tmp_path / "fails.py"
    script.write_text(ERROR_IN_ONE, encoding="utf-8")
    started = time.monotonic()
    process = start("train", make_config(), "--output-dir", tmp_path / "run", script=script)
    output, _ = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "error: this process has had enough" in output
    assert "bilstm_crf/" not in output.replace("bilstm_crf/training/optimizers", "")
    assert time.monotonic() - started < 60


def test_as_many_processes_as_before(
    command: Callable, make_config: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(self: Any, event: Any) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    with monkeypatch.context() as patch:
        patch.setattr("bilstm_crf.console.EpochBar.show", lambda *a: stop(None, None))
        command("train", make_config(), "--output-dir", tmp_path / "run")
    process = start("train", "--resume", tmp_path / "run")
    output, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "the run had 1 processes, now there are 2; start as many as before" in output
