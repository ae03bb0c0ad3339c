"""Where the trials take place: a folder, a small corpus, a configuration, a trained model."""

import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

from bilstm_crf.cli import main
from torture_trials.tally import Tally

NAMES = ("Ada Berg", "Ole", "Mia Dahl", "Tor Lund", "Éva", "Nils Aas", "小林", "Per Moe")
PLACES = ("Tarnvik", "North Hollow", "Østby", "Grey Harbour", "Lakeside", "Fen")
PATTERNS = (
    ("{name}", "went", "to", "{place}", "."),
    ("Nobody", "in", "{place}", "knows", "{name}", "."),
    ("It", "rained", "all", "day", "."),
    ("The", "ferry", "to", "{place}", "was", "late", ",", "said", "{name}", "."),
)
CONFIG = """\
# A small model.
seed: 7
data:
  train: train.conll
  dev: dev.conll
  test: dev.conll
model:
  word_embeddings: {size: 12}
  char_encoder: {type: cnn, size: 8, filters: 10}
  lstm: {hidden_size: 16, layers: 1}
training:
  epochs: 6
  epoch_steps: 1
  batch_size: 4
  average: 0.9
  checkpoint_steps: 3
  optimizer: {type: adamw, learning_rate: 1e-2}
  schedule: {type: cosine, warm_up: 0.5}
"""
SECONDS_TO_HANG = 60


def corpus(count: int, rng: random.Random) -> str:
    """Return sentences in BIO with names and places."""
    blocks = []
    for _ in range(count):
        fill = {"{name}": (rng.choice(NAMES), "PER"), "{place}": (rng.choice(PLACES), "LOC")}
        rows = []
        for word in rng.choice(PATTERNS):
            text, kind = fill.get(word, (word, ""))
            for number, token in enumerate(text.split()):
                rows.append(f"{token} {('I-' if number else 'B-') + kind if kind else 'O'}")
        blocks.append("\n".join(rows))
    return "\n\n".join(blocks) + "\n"


class Ground:
    """Folder and settings of a session of trials.

    Args:
        folder: empty; everything is written here.
        seed: of all random choices.
        quick: make a tenth of the tries.
        keep: folder for inputs that showed a fault.
    """

    def __init__(self, folder: Path, *, seed: int, quick: bool, keep: Path):
        self.folder, self.seed, self.quick, self._keep = folder, seed, quick, keep
        rng = random.Random(seed)
        (folder / "train.conll").write_text(corpus(40, rng), encoding="utf-8")
        (folder / "dev.conll").write_text(corpus(15, rng), encoding="utf-8")
        self.config = folder / "small.yaml"
        self.config.write_text(CONFIG, encoding="utf-8")

    def times(self, number: int) -> int:
        """Return how many tries to make instead of ``number``."""
        return max(1, number // 10) if self.quick else number

    @cached_property
    def run(self) -> Path:
        """A finished run of the configuration."""
        code = self.wait(self.command("train", self.config, "--output-dir", self.folder / "whole"))
        if code:
            sys.exit((self.folder / "log.txt").read_text(encoding="utf-8"))
        return self.folder / "whole"

    def stopped_run(self) -> Path:
        """Return a run that was stopped in its third epoch."""
        run = self.folder / "stopped"
        child = self.command("train", self.config, "--output-dir", run)
        metrics = run / "metrics.jsonl"
        while not metrics.exists() or metrics.read_bytes().count(b"\n") < 2:
            time.sleep(0.001)
        os.kill(child, signal.SIGTERM)
        if self.wait(child) != 128 + signal.SIGTERM:
            sys.exit("the run ended before it could be stopped; make it longer")
        return run

    def command(self, *arguments: object, before: Callable[[], None] = lambda: None) -> int:
        """Start the command line in a fork of this process; return its process id.

        Args:
            arguments: of ``bilstm-crf``.
            before: called in the fork first.
        """
        sys.stdout.flush()
        child = os.fork()
        if child:
            return child
        code = 99
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        try:
            log = os.open(self.folder / "log.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            sys.argv = ["bilstm-crf", *map(str, arguments)]
            before()
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def wait(self, child: int, seconds: float = SECONDS_TO_HANG) -> int:
        """Return the exit code of a process, minus the signal that ended it; 1000 if it hangs."""
        code = self.watch(child, seconds)
        if code is None:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return 1000
        return code

    def watch(self, child: int, seconds: float) -> int | None:
        """Return the exit code of a process if it ends within some seconds, else None."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.002)
        return None

    def outcome(self, code: int, expected: Sequence[int] = (0,)) -> str:
        """Name what an exit code means."""
        if code in expected:
            return "worked"
        log = (self.folder / "log.txt").read_text(encoding="utf-8", errors="replace")
        if code == 1000:
            return "hang"
        if code == 1 and "error: " in log and "Traceback" not in log:
            return "refused"
        print(log[-3000:], file=sys.stderr)
        return "traceback" if "Traceback" in log else "crash"

    def weights_hash(self, run: Path) -> str:
        """Return what a finished run says of its weights."""
        return str(json.loads((run / "report.json").read_text(encoding="utf-8"))["weights_sha256"])

    def attempt_all(
        self, tally: Tally, number: int, attempt: Callable[[random.Random, Path], str]
    ) -> None:
        """Make tries in forks, so that a crash ends one try and not the session.

        Args:
            tally: counts the outcomes.
            number: how many tries.
            attempt: makes one, with its own random numbers and file, and names the outcome.
        """
        done = 0
        while done < number:
            reader, writer = os.pipe()
            child = os.fork()
            if not child:
                os.close(reader)
                self._attempt_some(range(done, min(number, done + 250)), attempt, writer)
            os.close(writer)
            with os.fdopen(reader, encoding="ascii") as lines:
                outcomes = lines.read().split()
            _, status = os.waitpid(child, 0)
            if status:
                outcomes.append("crash")
            for outcome in outcomes:
                if outcome not in ("refused", "worked"):
                    self._keep_input(tally.trial, done)
                tally.count(outcome)
                done += 1

    def _attempt_some(
        self, numbers: range, attempt: Callable[[random.Random, Path], str], writer: int
    ) -> None:
        def hang(number: int, frame: object) -> None:
            raise TimeoutError

        signal.signal(signal.SIGALRM, hang)
        for number in numbers:
            signal.alarm(SECONDS_TO_HANG)
            try:
                outcome = attempt(random.Random(f"{self.seed} {number}"), self.input(number))
            except TimeoutError:
                outcome = "hang"
            except BaseException:
                traceback.print_exc()
                outcome = "traceback"
            signal.alarm(0)
            os.write(writer, f"{outcome}\n".encode())
            if outcome in ("refused", "worked"):
                self.input(number).unlink(missing_ok=True)
        os._exit(0)

    def input(self, number: int) -> Path:
        """Return where a try puts its input."""
        return self.folder / f"input-{number}"

    def _keep_input(self, trial: str, number: int) -> None:
        file = self.input(number)
        if file.exists():
            self._keep.mkdir(parents=True, exist_ok=True)
            (self._keep / f"{trial.replace(' ', '-')}-{number}").write_bytes(file.read_bytes())
