"""Check a machine with a GPU: scripts/gpu_check [--device cuda] [--corpus FOLDER].

Training, resuming, scoring and predicting on the device must agree with the CPU, and a training
step must not make the host wait for the device. Then tables: training speed against the CPU, and
the CRF. With --device cpu it tries itself out on a machine without a GPU. Ends with 1 if a check
failed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import torch
from _train_ours import Ours

from bilstm_crf.training.events import StepDone
from bilstm_crf.training.loop import Trainer

ROOT = Path(__file__).resolve().parent.parent.parent
EPOCHS = 3
PLAIN = ["model.dropout.inputs=0", "model.dropout.outputs=0", "model.dropout.words=0"]
SHAPES = ["32,32,9", "32,64,17", "8,512,9"]


class Checks:
    """What was checked, and what failed."""

    def __init__(self) -> None:
        self.failed = 0

    def note(self, name: str, good: bool, found: str) -> None:
        self.failed += not good
        print(f"{'ok    ' if good else 'FAILED'} {name}: {found}", flush=True)


def run_tool(*arguments: str) -> str:
    """Run a command of the tool and return what it printed."""
    run = subprocess.run(
        [sys.executable, "-m", "bilstm_crf", "--quiet", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        raise SystemExit(f"bilstm-crf {' '.join(arguments)}\n{run.stderr}")
    return run.stdout


def train(corpus: Path, device: str, folder: Path) -> list[float]:
    """Train without dropout and return the loss of each epoch."""
    config = folder.with_suffix(".yaml")
    files = {split: str(corpus / f"{split}.conll") for split in ("train", "dev", "test")}
    config.write_text(json.dumps({"data": files}), encoding="utf-8")
    settings = [f"training.epochs={EPOCHS}", "training.precision=float32", *PLAIN]
    sets = [part for setting in settings for part in ("--set", setting)]
    run_tool("train", str(config), "--device", device, "--output-dir", str(folder), *sets)
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["train_loss"] for line in lines]


def check_agreement(checks: Checks, corpus: Path, device: str, work: Path) -> None:
    """Compare training, scores and labels of the device with those of the CPU."""
    losses = {name: train(corpus, name, work / name.replace(":", "-")) for name in {"cpu", device}}
    pairs = list(zip(losses["cpu"], losses[device], strict=True))
    worst = max(abs(a - b) / a for a, b in pairs)
    checks.note("train", worst < 0.02, f"losses {pairs}, largest difference {100 * worst:.3f} %")

    model, test = str(work / device.replace(":", "-") / "model.pt"), str(corpus / "test.conll")
    f1, labels = {}, {}
    for name in ("cpu", device):
        output = work / "scores.json"
        run_tool("eval", model, test, "--device", name, "--json", str(output))
        f1[name] = json.loads(output.read_text(encoding="utf-8"))["f1"]
        labels[name] = run_tool("predict", model, test, "--device", name).splitlines()
    checks.note("eval", abs(f1["cpu"] - f1[device]) < 0.005, f"F1 {f1}")
    same = sum(a == b for a, b in zip(labels["cpu"], labels[device], strict=True))
    share = same / max(1, len(labels["cpu"]))
    checks.note("predict", share > 0.999, f"{100 * share:.2f} % of the lines are the same")


def train_until(trainer: Trainer, epoch: int) -> None:
    """Train to the last step of an epoch."""
    torch.manual_seed(epoch)
    for event in trainer.run():
        if isinstance(event, StepDone) and (event.epoch, event.step) == (epoch, event.steps):
            return


def check_resume(checks: Checks, train_file: Path, device: str) -> None:
    """Save a run after an epoch, go on from its state in another one, compare the two."""
    straight, resumed = (Ours(train_file, 128, 32, "float32", device) for _ in range(2))
    train_until(straight.trainer, 1)
    with tempfile.TemporaryFile() as file:
        torch.save(straight.trainer.state_dict(), file)
        train_until(straight.trainer, 2)
        file.seek(0)
        resumed.trainer.load_state_dict(torch.load(file, weights_only=True, map_location="cpu"))
    train_until(resumed.trainer, 2)
    ours, theirs = (
        torch.cat([p.detach().flatten() for p in o.network.parameters()])
        for o in (resumed, straight)
    )
    difference = float((ours - theirs).norm() / theirs.norm())
    # On a GPU sums are made in any order, so the last digits of two runs differ.
    checks.note(
        "resume",
        difference == 0 if device == "cpu" else difference < 0.02,
        f"weights differ by {100 * difference:.4f} %",
    )


def check_waiting(checks: Checks, train_file: Path, device: str) -> None:
    """Count the places of a step at which the host waits for the device."""
    if not device.startswith("cuda"):
        print("-      waiting: only a CUDA device can be waited for")
        return
    trainer = Ours(train_file, 128, 32, "float32", device).trainer
    train_until(trainer, 1)  # the first steps choose kernels
    torch.cuda.set_sync_debug_mode("warn")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for group, batches in trainer._with_batches([[b] for b in trainer._plan_epoch()[:20]]):
            trainer._take_step(batches, len(group[0]), 1.0)
    torch.cuda.set_sync_debug_mode("default")
    places = sorted({f"{Path(w.filename).name}:{w.lineno}" for w in caught})
    found = f"{len(caught)} times in 20 steps {', '.join(places)}"
    checks.note("waiting", not caught, found)


def print_speed(train_file: Path, device: str) -> None:
    """Print the tokens a second of an epoch after a first one."""
    print("\ntraining, tokens a second (batch x precision)")
    print("| device | 32, float32 | 32, bf16 | 256, float32 | 256, bf16 |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name in dict.fromkeys(["cpu", device]):
        cells = []
        for batch in (32, 256):
            for precision in ("float32", "bf16"):
                ours = Ours(train_file, 128, batch, precision, name)
                ours.epoch()
                started = time.perf_counter()
                ours.epoch()
                seconds = time.perf_counter() - started
                cells.append(f"{ours.corpus.num_tokens / seconds:,.0f}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    if device.startswith("cuda"):
        print(f"peak memory {torch.cuda.max_memory_allocated() / 2**20:.0f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--device", default="cuda", help="cuda (default), cuda:N, mps or cpu")
    parser.add_argument(
        "--corpus",
        type=Path,
        default=ROOT / "data" / "sample",
        help="folder with train, dev and test.conll (default data/sample)",
    )
    parser.add_argument("--threads", type=int, default=1, help="torch threads (default 1)")
    options = parser.parse_args()
    corpus, device = options.corpus.resolve(), options.device
    torch.set_num_threads(options.threads)
    name = torch.cuda.get_device_name(device) if device.startswith("cuda") else device
    print(f"torch {torch.__version__}, {name}, {options.threads} CPU thread(s), {corpus}")
    checks = Checks()
    with tempfile.TemporaryDirectory() as work:
        check_agreement(checks, corpus, device, Path(work))
    check_resume(checks, corpus / "train.conll", device)
    check_waiting(checks, corpus / "train.conll", device)
    print_speed(corpus / "train.conll", device)
    bench = [sys.executable, str(ROOT / "scripts" / "bench"), "crf", "--device", device]
    shapes = [part for shape in SHAPES for part in ("--shape", shape)]
    sys.stdout.flush()
    subprocess.run([*bench, "--slow-rounds", "0", *shapes], check=False)
    raise SystemExit(checks.failed > 0)


if __name__ == "__main__":
    main()
