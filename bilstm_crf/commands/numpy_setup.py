"""What must be told to numpy's matrix library (OpenBLAS) before it is loaded."""

import os


def set_up_numpy() -> None:
    """Let numpy multiply matrices in one thread; without effect once numpy is imported.

    The products of prediction are small: more threads wait for each other, and on a busy machine
    that takes many times as long. Batches are what is run in parallel. What the user has set in
    the environment stays.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
