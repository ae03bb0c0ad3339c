"""What must be told to numpy's matrix library (OpenBLAS) before it is loaded."""

import os
import sys
from pathlib import Path

_NEEDED = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}


def set_up_numpy() -> None:
    """Choose how numpy multiplies matrices; without effect once numpy is imported.

    One thread: the products of prediction are small, and batches are what is run in parallel.
    And the kernels that fit: OpenBLAS takes AMD processors newer than itself for ones without
    AVX-512, which halves the speed. What the user has set in the environment stays.
    """
    if "numpy" in sys.modules:
        return
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        with Path("/proc/cpuinfo").open(encoding="ascii", errors="replace") as file:
            lines = dict(line.split(":", 1) for line in file.read(8192).split("\n") if ":" in line)
    except OSError:
        return
    processor = {name.strip(): value.split() for name, value in lines.items()}
    is_amd = processor.get("vendor_id") == ["AuthenticAMD"]
    if is_amd and _NEEDED.issubset(processor.get("flags", [])):
        os.environ.setdefault("OPENBLAS_CORETYPE", "SkylakeX")
