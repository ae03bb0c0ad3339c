"""How the training benchmark talks to the tools, each of which trains in a process of its own."""

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator


def read_sentences(path: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield tokens and labels of each sentence of a file with tab-separated columns."""
    tokens: list[str] = []
    labels: list[str] = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            columns = line.rstrip("\n").split("\t")
            if len(columns) > 1 and columns[0].strip():
                tokens.append(columns[0])
                labels.append(columns[-1])
            elif tokens:
                yield tokens, labels
                tokens, labels = [], []
    if tokens:
        yield tokens, labels


def serve(epoch: Callable[[], float]) -> None:
    """Train an epoch for each line of standard input; print its loss, seconds and memory.

    Args:
        epoch: trains one epoch and returns its mean loss.
    """
    results = sys.stdout
    sys.stdout = sys.stderr  # what the tool prints is not a result
    for _ in sys.stdin:
        processor, clock = time.process_time(), time.perf_counter()
        loss = epoch()
        record = {
            "loss": loss,
            "processor": time.process_time() - processor,
            "clock": time.perf_counter() - clock,
            "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
        print(json.dumps(record), file=results, flush=True)
