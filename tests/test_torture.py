"""The trial of robustness itself: it runs, counts, and would notice."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "scripts" / "torture"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_a_quick_trial_finds_nothing_wrong(tmp_path: Path) -> None:
    names = ["model-content", "configs", "corpora", "no-folder", "two-writers"]
    done = run("--quick", "--keep", str(tmp_path / "kept"), "--only", *names)
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()
    assert len(rows) == 1 + len(names)
    for row in rows[1:]:
        assert re.search(r"[1-9]", row)
    assert not (tmp_path / "kept").exists()


FAULTS = """
import os, sys
from pathlib import Path
sys.path[:0] = [sys.argv[1]]
from torture_trials import ground
from torture_trials.tally import Tally

ground.SECONDS_TO_HANG = 1

def attempt(rng, path):
    path.write_text("input", encoding="utf-8")
    number = int(path.name.partition("-")[2])
    if number == 3:
        raise ZeroDivisionError("on purpose")
    if number == 4:
        os.abort()
    while number == 5:
        pass
    return "lost" if number == 6 else "worked" if number % 2 else "refused"

folder = Path(sys.argv[2])
tally = Tally("trial")
place = ground.Ground(folder, seed=1, quick=False, keep=folder / "kept")
place.attempt_all(tally, 10, attempt)
print(Tally.HEADER)
print(tally.row())
sys.exit(tally.is_bad)
"""


@pytest.mark.slow
def test_every_kind_of_fault_is_counted_and_its_input_kept(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAULTS, str(SCRIPT.parent), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "ZeroDivisionError: on purpose" in done.stderr
    names, counts = (line.split() for line in done.stdout.splitlines())
    found = dict(zip(names, counts, strict=False))
    assert found == {
        "trial": "trial", "tries": "10", "refused": "3", "worked": "3", "tracebacks": "1",
        "hangs": "1", "crashes": "1", "lost": "1", "different": "0",
    }  # fmt: skip
    kept = sorted(file.name for file in (tmp_path / "kept").iterdir())
    assert kept == ["trial-3", "trial-4", "trial-5", "trial-6"]
