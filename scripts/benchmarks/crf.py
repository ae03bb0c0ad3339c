"""The CRF beside other layers: loss with gradients, and decoding.

All layers get the same scores and must agree. The rounds of all layers are interleaved, so that
whatever else the machine does hits all of them. A cell is the median time of a call, then in
parentheses how many times as long as ours. With one thread on a CPU it is processor time: the
same as the clock's on an idle machine, and not disturbed by others on a busy one.
"""

import argparse
import gc
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from _crf_layers import LAYERS, Ours, Problem, TutorialLoop

SHAPES = [(32, 32, 9), (32, 64, 17), (16, 128, 37), (64, 40, 9), (8, 512, 9), (1, 30, 9)]
AGREEMENT = 1e-3  # of the largest number; pytorch-crf's gradients at 512 tokens need 3e-4
MIN_SECONDS = 0.01  # a round calls a layer about as often as fills this
LONG_SECONDS = 0.5  # a call this long is not repeated


def main(arguments: list[str]) -> None:
    """Measure all shapes and print the two tables."""
    parser = argparse.ArgumentParser(
        prog="scripts/bench crf", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--device", default="cpu", help="cpu (default) or cuda")
    parser.add_argument("--threads", type=int, default=1, help="torch's threads (default 1)")
    parser.add_argument("--rounds", type=int, default=15, help="rounds per layer (default 15)")
    parser.add_argument(
        "--slow-rounds", type=int, default=1, help="rounds of the tutorial's loop; 0: leave it out"
    )
    parser.add_argument(
        "--shape",
        action="append",
        type=_shape,
        help="batch,time,labels; repeatable (default: six shapes)",
    )
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    print(f"torch {torch.__version__}, {_device_name(options.device)}, {options.threads} thread(s)")

    losses: list[list[str]] = []
    paths: list[list[str]] = []
    for shape in options.shape or SHAPES:
        batch, steps, labels = shape
        problem = Problem.random(batch, steps, labels, options.device)
        layers = _layers(problem, options.slow_rounds)
        _check_agreement(problem, layers)
        tasks = [(losses, "loss"), (paths, "decode")]
        for rows, task in tasks:
            calls = {layer.name: _call(layer, task, problem) for layer in layers}
            medians = _measure(calls, options)
            rows.append([str(shape), *_cells(medians)])
    header = ["(batch, time, labels)", *(layer.name for layer in LAYERS)]
    _print_table("loss and gradients, ms (times ours)", header, losses)
    _print_table("decoding to lists, ms (times ours)", header, paths)


def _shape(text: str) -> tuple[int, int, int]:
    batch, time_, labels = (int(part) for part in text.split(","))
    return batch, time_, labels


def _device_name(device: str) -> str:
    if device == "cuda":
        return torch.cuda.get_device_name()
    return platform.processor() or platform.machine()


def _layers(problem: Problem, slow_rounds: int) -> list[Any]:
    layers = []
    for layer in LAYERS:
        if layer is TutorialLoop and not slow_rounds:
            continue
        try:
            layers.append(layer(problem))
        except ModuleNotFoundError as error:
            print(f"{layer.name}: absent ({error})")
    return layers


def _check_agreement(problem: Problem, layers: list[Any]) -> None:
    """Stop unless all layers give the same losses, gradients and scores of paths."""
    results: dict[str, list[torch.Tensor]] = {}
    for layer in layers:
        loss = layer.loss()
        results[layer.name] = [loss, *torch.autograd.grad(loss, problem.leaves)]
        paths = layer.decode()
        if [len(path) for path in paths] != problem.lengths.tolist():
            raise SystemExit(f"{layer.name}: paths of wrong lengths")
        padded = torch.zeros_like(problem.labels)
        for row, path in zip(padded, paths, strict=True):
            row[: len(path)] = torch.tensor(path)
        with torch.no_grad():
            score = layers[0].layer.path_score(problem.emissions, padded, problem.mask)
        results[layer.name].append(score)
    for name, values in results.items():
        for ours, theirs in zip(results[Ours.name], values, strict=True):
            # Against the largest number: small ones of long sentences differ by others' rounding.
            error = float(((theirs - ours).abs().max() / ours.abs().max()).detach())
            if not error < AGREEMENT:
                raise SystemExit(
                    f"{name} differs from {Ours.name} by {error:.1e} of {tuple(ours.shape)}"
                )


def _call(layer: Any, task: str, problem: Problem) -> Callable[[], None]:
    def loss() -> None:
        torch.autograd.grad(layer.loss(), problem.leaves)

    def decode() -> None:
        layer.decode()

    return loss if task == "loss" else decode


def _measure(calls: dict[str, Callable[[], None]], options: argparse.Namespace) -> dict[str, float]:
    """Return each layer's median time of a call in milliseconds."""
    clock = time.perf_counter
    if options.device == "cuda":
        clock = _clock_of_cuda
    elif options.threads == 1:
        clock = time.process_time
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(options.rounds):
        for name, call in calls.items():
            if name == TutorialLoop.name and turn >= options.slow_rounds:
                continue
            times[name].append(_time(call, clock))
    return {name: 1e3 * statistics.median(taken) for name, taken in times.items()}


def _clock_of_cuda() -> float:
    torch.cuda.synchronize()
    return time.perf_counter()


def _time(call: Callable[[], None], clock: Callable[[], float]) -> float:
    """Return the time of a call, over as many as fill ``MIN_SECONDS``.

    Two calls warm up: the first after another layer's pays for what that one left behind in
    caches and heap. So does the garbage collector, which does not run in between.
    """
    gc.collect()
    gc.disable()
    repeats = 1
    for _ in range(2):
        begin = clock()
        call()
        taken = clock() - begin
        if taken > LONG_SECONDS:
            break
        repeats = 1 + int(MIN_SECONDS / max(taken, 1e-6))
    else:
        begin = clock()
        for _ in range(repeats):
            call()
        taken = (clock() - begin) / repeats
    gc.enable()
    return taken


def _cells(medians: dict[str, float]) -> list[str]:
    ours = medians[Ours.name]
    cells = [f"{ours:.3f}"]
    for layer in LAYERS[1:]:
        taken = medians.get(layer.name)
        cells.append("-" if taken is None else f"{taken:.3f} ({taken / ours:.1f})")
    return cells


def _print_table(title: str, header: list[str], rows: list[list[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    print(f"\n{title}")
    for row in [header, *rows]:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=True)]
        print("  ".join(cells))
