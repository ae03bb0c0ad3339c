"""A long input: predicted at constant memory, nothing lost."""

import os
import random
import time
from pathlib import Path

from torture_trials.ground import PLACES, Ground
from torture_trials.tally import Tally


def long_input(ground: Ground) -> Tally:
    """Ten million tokens: memory at the end against memory for a tenth of them."""
    tally = Tally("long input")
    model = ground.run / "model.pt"
    most = ground.times(10_000_000)
    peaks = []
    for tokens in (most // 10, most):
        source, output = ground.folder / "long.txt", ground.folder / "long.out"
        lines = _write(source, tokens, random.Random(ground.seed))
        started = time.monotonic()
        peak, code = _predict(ground, model, source, output)
        seconds = time.monotonic() - started
        peaks.append(peak)
        outcome = ground.outcome(code)
        with output.open("rb") as file:
            found = sum(1 for _ in file)
        tally.count("lost" if outcome == "worked" and found != lines else outcome)
        source.unlink()
        output.unlink()
    tally.note = (
        f"{most:,} tokens at {most / seconds:,.0f} tokens/s; peak memory {peaks[1]:.0f} MB, "
        f"{peaks[0]:.0f} MB for a tenth of them"
    )
    if peaks[1] > 1.2 * peaks[0] + 20:
        tally.count("different")
    return tally


def _write(path: Path, tokens: int, rng: random.Random) -> int:
    """Write token lines of sentences that do not repeat; return how many lines."""
    lines = written = 0
    with path.open("w", encoding="utf-8") as file:
        while written < tokens:
            # As in real text a few words are frequent, and there is no end of rare ones.
            words = [
                f"word{int(rng.paretovariate(0.6)) % 500_000}" for _ in range(rng.randint(5, 40))
            ]
            words[rng.randrange(len(words))] = rng.choice(PLACES).split()[0]
            file.write("\n".join(words) + "\n\n")
            written += len(words)
            lines += len(words) + 1
    return lines


def _predict(ground: Ground, model: Path, source: Path, output: Path) -> tuple[float, int]:
    """Return the peak memory in MB of a prediction in its own process, and its exit code."""
    child = ground.command("predict", model, source, "--output", output)
    peak = 0.0
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return peak, os.waitstatus_to_exitcode(status)
        for line in Path(f"/proc/{child}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                peak = int(line.split()[1]) / 1024
        time.sleep(0.05)


TRIALS = {"long-input": long_input}
