"""Prediction beside other taggers: whole processes, from start to written file.

Every tool labels the same token lines with a model trained on the same corpus, one thread. The
rounds are interleaved and the median is shown. Processor seconds of a run on one sentence are
the start; tokens per second are net of it. Peers that are not installed are left out.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PEER_SCRIPT = Path(__file__).with_name("_predict_peers.py")
PEER_MODULES = {
    "crfsuite": "pycrfsuite",
    "crfsuite-cached": "pycrfsuite",
    "bi-lstm-crf": "bi_lstm_crf",
    "bi-lstm-crf-batched": "bi_lstm_crf",
}
OURS = "bilstm-crf"
SLOW = {"bi-lstm-crf"}  # not asked for the long text
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Cost:
    """What a process took: processor and clock seconds, and its largest memory in MiB."""

    processor: float
    clock: float
    memory: float


def main(arguments: list[str]) -> None:
    """Train what is missing, measure, and print the table."""
    parser = argparse.ArgumentParser(
        prog="scripts/bench predict",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument(
        "--corpus",
        type=Path,
        default=Path("data/wnut17"),
        help="folder with train, dev and test.conll (default data/wnut17)",
    )
    parser.add_argument("--splits", default="test", help="whose text is repeated (default test)")
    parser.add_argument(
        "--work",
        type=Path,
        default=Path("/tmp/bench-predict"),
        help="where models and texts are kept (default /tmp/bench-predict)",
    )
    parser.add_argument("--peers", default=sys.executable, help="Python that has the peers")
    parser.add_argument("--config", type=Path, help="to train ours (default: the corpus alone)")
    parser.add_argument("--model", type=Path, help="a trained model of ours")
    parser.add_argument("--rounds", type=int, default=5, help="runs per tool (default 5)")
    parser.add_argument(
        "--long-rounds", type=int, default=3, help="of the long text (default 3; 0 leaves it out)"
    )
    parser.add_argument("--tokens", type=int, default=100_000, help="of the text")
    parser.add_argument("--long-tokens", type=int, default=1_000_000, help="of the long text")
    options = parser.parse_args(arguments)
    options.work.mkdir(parents=True, exist_ok=True)
    texts = _Texts(options)
    commands = {OURS: _our_command(options)}
    for name, module in PEER_MODULES.items():
        if _has(options.peers, module):
            commands[name] = _peer_command(name, options)
        else:
            print(f"left out: {name} (no module {module} for {options.peers})")
    short = _measure(commands, [texts.one, texts.short], options)
    rows = []
    for name, (start, whole) in short.items():
        net = texts.num_short / (whole.processor - start.processor)
        rows.append([name, f"{start.processor:.2f}", f"{whole.processor:.2f}", f"{net:,.0f}"])
    print(f"\n{texts.num_short:,} tokens, median of {options.rounds} runs, processor seconds")
    _print_table(["", "start", "whole", "tokens/s net of start"], rows)
    if options.long_rounds:
        options.rounds = options.long_rounds
        fast = {name: command for name, command in commands.items() if name not in SLOW}
        long = _measure(fast, [texts.long], options)
        rows = [
            [name, f"{cost.processor:.1f}", f"{cost.clock:.1f}", f"{cost.memory:,.0f}"]
            for name, (cost,) in long.items()
        ]
        print(f"\n{texts.num_long:,} tokens, median of {options.rounds} runs, the whole process")
        _print_table(["", "processor s", "clock s", "memory MiB"], rows)


class _Texts:
    """Token lines of three sizes, made from the corpus."""

    def __init__(self, options: argparse.Namespace):
        sentences: list[str] = []
        for split in options.splits.split(","):
            text = (options.corpus / f"{split}.conll").read_text(encoding="utf-8")
            tokens: list[str] = []
            for line in [*text.split("\n"), ""]:
                if line.strip():
                    tokens.append(line.split("\t")[0])
                elif tokens:
                    sentences.append("\n".join(tokens) + "\n\n")
                    tokens = []
        self.one = options.work / "one.txt"
        self.one.write_text(sentences[0], encoding="utf-8")
        self.short, self.num_short = self._repeat(sentences, options.tokens, options.work)
        self.long, self.num_long = self._repeat(sentences, options.long_tokens, options.work)

    @staticmethod
    def _repeat(sentences: list[str], least: int, work: Path) -> tuple[Path, int]:
        path, tokens = work / f"{least}.txt", 0
        with path.open("w", encoding="utf-8") as file:
            while tokens < least:
                for sentence in sentences:
                    file.write(sentence)
                    tokens += sentence.count("\n") - 1
                    if tokens >= least:
                        break
        return path, tokens


def _our_command(options: argparse.Namespace) -> list[str]:
    model = options.model
    program = [sys.executable, "-m", "bilstm_crf"]
    if model is None:
        run = options.work / "ours"
        model = run / "model.pt"
        if not model.exists():
            config = options.config or options.work / "ours.yaml"
            if options.config is None:
                files = [f"{s}: {options.corpus.resolve() / s}.conll" for s in ("train", "dev")]
                config.write_text(f"data: {{{', '.join(files)}}}\n", encoding="utf-8")
            print("training ours")
            train = [*program, "train", str(config), "--output-dir", str(run), "--overwrite"]
            _run([*train, "--threads", "1", "--set", "training.epochs=3"])
    return [*program, "predict", str(model), "IN", "--output", "OUT", "--threads", "1"]


def _peer_command(name: str, options: argparse.Namespace) -> list[str]:
    # A tool and its faster variant share a model.
    model = options.work / f"{PEER_MODULES[name]}.model"
    program = [options.peers, str(PEER_SCRIPT), name]
    if not model.exists():
        print(f"training {name}")
        _run([*program, "train", str(options.corpus), str(model)])
    return [*program, "predict", str(model), "IN", "OUT"]


def _has(python: str, module: str) -> bool:
    found = subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False)
    return found.returncode == 0


def _measure(
    commands: dict[str, list[str]], inputs: list[Path], options: argparse.Namespace
) -> dict[str, list[Cost]]:
    """Return the median cost of each tool on each input."""
    costs: dict[str, list[list[Cost]]] = {name: [[] for _ in inputs] for name in commands}
    for _ in range(options.rounds):
        for name, command in commands.items():
            for found, source in zip(costs[name], inputs, strict=True):
                target = options.work / f"{name}.{source.name}"
                paths = {"IN": str(source), "OUT": str(target)}
                found.append(_run([paths.get(word, word) for word in command]))
                _check(source, target)
    return {name: [_median(runs) for runs in of_inputs] for name, of_inputs in costs.items()}


def _run(command: list[str]) -> Cost:
    started = time.perf_counter()
    process = subprocess.Popen(
        command, env={**os.environ, **ONE_THREAD}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    message = process.stderr.read() if process.stderr else b""
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed:\n{message.decode()}")
    clock = time.perf_counter() - started
    return Cost(usage.ru_utime + usage.ru_stime, clock, usage.ru_maxrss / 1024)


def _check(source: Path, target: Path) -> None:
    """Stop if a tool has lost tokens: its time would mean nothing."""
    for line, labelled in zip(_lines(source), _lines(target), strict=True):
        if not labelled.startswith(line):
            raise SystemExit(f"{target}: {labelled!r} where {line!r} belongs")


def _lines(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", newline="\n") as file:
        yield from (line.rstrip("\n") for line in file)


def _median(costs: list[Cost]) -> Cost:
    names = ("processor", "clock", "memory")
    return Cost(*(statistics.median(getattr(cost, name) for cost in costs) for name in names))


def _print_table(header: list[str], rows: list[list[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in [header, *rows]:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
