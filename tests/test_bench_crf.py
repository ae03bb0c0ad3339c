"""The CRF benchmark runs, finds that the layers agree, and prints both tables."""

import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parent.parent / "scripts" / "bench"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, BENCH, *arguments], capture_output=True, text=True)


@pytest.mark.slow
def test_prints_a_row_per_shape_in_both_tables():
    result = run("crf", "--shape", "2,6,3", "--shape", "1,4,2", "--rounds", "1")
    assert result.returncode == 0, result.stderr
    for title in ("loss and gradients", "decoding"):
        assert title in result.stdout
    for shape in ("(2, 6, 3)", "(1, 4, 2)"):
        assert result.stdout.count(shape) == 2
    assert "pytorch-crf" in result.stdout


def test_names_the_benchmarks_there_are():
    result = run("no-such-benchmark")
    assert result.returncode == 2
    assert "crf" in result.stdout
