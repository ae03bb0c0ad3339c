"""Runs that are killed, stopped, robbed of their disk, or meet another one in their folder."""

import codecs
import os
import random
import resource
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

from torture_trials.ground import Ground
from torture_trials.tally import Tally


def kills(ground: Ground) -> Tally:
    """Runs killed at random moments and resumed until they end: to the same weights."""
    tally = Tally("kills")
    _stop_and_resume(ground, tally, ground.times(100), [signal.SIGKILL])
    return tally


def stops(ground: Ground) -> Tally:
    """Likewise with the signals that ask to stop."""
    tally = Tally("stops")
    _stop_and_resume(ground, tally, ground.times(100), [signal.SIGINT, signal.SIGTERM])
    return tally


def _stop_and_resume(ground: Ground, tally: Tally, number: int, signals: list[int]) -> None:
    rng = random.Random(f"{ground.seed} {tally.trial}")
    whole = ground.weights_hash(ground.run)
    # The moments come from this many seconds: more after a stop, fewer after an end, so that both
    # happen, however busy the machine is.
    length = 1.0
    endings = stops = 0
    while stops < number:
        run = ground.folder / f"{tally.trial}-{endings}"
        code: int | None = None
        while code != 0:
            resumes = (run / "state.pt").exists()
            started_new = ("train", ground.config, "--output-dir", run, "--overwrite")
            child = ground.command(*(("train", "--resume", run) if resumes else started_new))
            code = ground.watch(child, rng.uniform(0, length))
            if code is None:
                sent = rng.choice(signals)
                os.kill(child, sent)
                code = ground.wait(child)
                # Very early the signal itself ends the process, later the program does.
                outcome = ground.outcome(code, (-sent, 128 + sent, 0))
                tally.count(outcome)
                stops += 1
                length *= 1.1
            else:
                outcome = ground.outcome(code)
                length *= 0.7
            if outcome != "worked":
                return
        endings += 1
        if ground.weights_hash(run) != whole:
            tally.count("different")
        shutil.rmtree(run)
    tally.note = f"{endings} runs came to their end, all with the same weights"


def full_disk(ground: Ground) -> Tally:
    """Runs on a disk that is full at a random size of a file; then on one with room."""
    tally = Tally("full disk")
    rng = random.Random(f"{ground.seed} disk")
    whole = ground.weights_hash(ground.run)
    largest = 8 * (ground.run / "model.pt").stat().st_size
    for number in range(ground.times(50)):
        run = ground.folder / f"full-{number}"
        tally.count(_run_with_limit(ground, run, rng.randrange(largest)))
        if list(run.glob("*.tmp")):
            tally.count("lost")
        if not (run / "report.json").exists():
            resumes = (run / "state.pt").exists()
            again = ("--resume", run) if resumes else (ground.config, "--output-dir", run)
            tally.count(ground.outcome(ground.wait(ground.command("train", *again))))
        if ground.weights_hash(run) != whole:
            tally.count("different")
        shutil.rmtree(run)
    return tally


def _run_with_limit(ground: Ground, run: Path, size: int) -> str:
    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    child = ground.command("train", ground.config, "--output-dir", run, before=limit)
    return ground.outcome(ground.wait(child))


def no_folder(ground: Ground) -> Tally:
    """Places that cannot be written: each is refused and left as it was."""
    tally = Tally("no folder")
    file = ground.folder / "file"
    file.write_text("mine", encoding="utf-8")
    sealed = ground.folder / "sealed"
    sealed.mkdir(mode=0o555)

    def as_nobody() -> None:
        if os.geteuid() == 0:  # root may write anywhere
            codecs.lookup("utf-8-sig")  # Python itself may lie where nobody can read
            os.setuid(65534)

    places: list[tuple[Path, Callable[[], None]]] = [
        (file, lambda: None),
        (file / "below", lambda: None),
        (Path("/proc/run"), lambda: None),
        (Path("/dev/null"), lambda: None),
        (sealed, as_nobody),
        (sealed / "below", as_nobody),
    ]
    ground.folder.chmod(0o755)
    for place, before in places:
        child = ground.command("train", ground.config, "--output-dir", place, before=before)
        outcome = ground.outcome(ground.wait(child))
        tally.count("different" if outcome == "worked" else outcome)
    if file.read_text(encoding="utf-8") != "mine" or list(sealed.iterdir()):
        tally.count("lost")
    return tally


def two_writers(ground: Ground) -> Tally:
    """Two runs started into one folder: one trains, the other is refused."""
    tally = Tally("two writers")
    whole = ground.weights_hash(ground.run)
    for number in range(ground.times(20)):
        run = ground.folder / f"two-{number}"
        arguments = ("train", ground.config, "--output-dir", run, "--overwrite")
        first = ground.command(*arguments)
        while not (run / ".lock").exists():
            time.sleep(0.001)
        second = ground.command(*arguments)
        outcomes = sorted(ground.outcome(ground.wait(child)) for child in (second, first))
        for outcome in outcomes:
            tally.count(outcome)
        if outcomes != ["refused", "worked"] or ground.weights_hash(run) != whole:
            tally.count("different")
        shutil.rmtree(run)
    return tally


TRIALS = {
    "kills": kills,
    "stops": stops,
    "full-disk": full_disk,
    "no-folder": no_folder,
    "two-writers": two_writers,
}
