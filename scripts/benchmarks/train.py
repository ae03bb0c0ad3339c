"""Training beside other taggers: tokens a second of whole epochs, and where our time goes.

Every tool trains in a process of its own with one thread: word vectors of 100 numbers, characters
where the tool has them, one BiLSTM layer, a CRF. After a warm-up epoch the tools take turns, an
epoch at a time, so that whatever else the machine does hits all of them; the median is shown.
Processor seconds are those of the clock on an idle machine, and not disturbed by others on a busy
one. The loss functions differ; only speed and memory are compared. Peers that are not installed
are left out; NCRF++ is in no package registry, so its step is written anew (_ncrf_like.py).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
PEER_MODULES = {
    "bi-lstm-crf": "bi_lstm_crf", "NCRF++-like": "torch", "Stanza": "stanza", "flair": "flair",
}  # fmt: skip
PRECISIONS = ("float32", "bf16")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
ENVIRONMENT = {**os.environ, **ONE_THREAD, "PYTHONPATH": str(ROOT)}


class Tool:
    """A process that trains an epoch when asked to."""

    def __init__(self, name: str, command: list[str]):
        self.name, self.epochs = name, list[dict[str, float]]()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=ENVIRONMENT,
            text=True,
        )

    def epoch(self) -> dict[str, float]:
        """Train an epoch; return its seconds and the largest memory so far."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("the pipes were not opened")
        stdin.write("\n")
        stdin.flush()
        while line := stdout.readline():
            if line.startswith('{"loss"'):
                return dict(json.loads(line))
        raise SystemExit(f"{self.name}: ended early; run it by hand: {self._process.args}")

    def close(self) -> None:
        """Let the process end."""
        self._process.communicate()


def main(arguments: list[str]) -> None:
    """Measure all tools, then our own step, and print both tables."""
    parser = argparse.ArgumentParser(
        prog="scripts/bench train",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument(
        "--corpus",
        type=Path,
        default=ROOT / "data" / "wnut17" / "train.conll",
        help="tokens and BIO labels in columns by tab (default data/wnut17/train.conll)",
    )
    parser.add_argument("--peers", help="Python that has the peers (default: none are measured)")
    parser.add_argument("--only", nargs="*", help="these peers only")
    parser.add_argument("--rounds", type=int, default=5, help="epochs measured (default 5)")
    parser.add_argument("--hidden", type=int, default=128, help="per direction (default 128)")
    parser.add_argument("--batch", type=int, default=32, help="sentences a batch (default 32)")
    options = parser.parse_args(arguments)
    if not options.corpus.exists():
        raise SystemExit(f"{options.corpus}: not there; scripts/get_data wnut17, or --corpus FILE")
    num_tokens = _count_tokens(options.corpus)
    _print_tools(_measure(options), num_tokens)
    for precision in PRECISIONS:
        _print_stages(precision, _stages(options, precision), num_tokens)


def _count_tokens(path: Path) -> int:
    with path.open(encoding="utf-8") as file:
        return sum(bool(line.split("\t")[0].strip()) for line in file)


def _sizes(options: argparse.Namespace) -> list[str]:
    return [str(options.corpus), str(options.hidden), str(options.batch)]


def _measure(options: argparse.Namespace) -> list[Tool]:
    ours = [sys.executable, str(FOLDER / "_train_ours.py"), *_sizes(options)]
    tools = [Tool(f"bilstm-crf, {precision}", [*ours, precision]) for precision in PRECISIONS]
    tools += [
        Tool(f"bilstm-crf, {precision}, with the second task", [*ours, precision, "--defaults"])
        for precision in PRECISIONS
    ]
    for name, module in PEER_MODULES.items():
        if options.only is not None and name not in options.only:
            continue
        if options.peers and _has(options.peers, module):
            script = str(FOLDER / "_train_peers.py")
            tools.append(Tool(name, [options.peers, script, name, *_sizes(options)]))
        else:
            print(f"left out: {name} (no module {module} for {options.peers or '--peers'})")
    for tool in tools:
        tool.epoch()
    for _ in range(options.rounds):
        for tool in tools:
            tool.epochs.append(tool.epoch())
    for tool in tools:
        tool.close()
    return tools


def _has(python: str, module: str) -> bool:
    found = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", found], check=False).returncode == 0


def _print_tools(tools: list[Tool], num_tokens: int) -> None:
    print(f"\n{num_tokens} tokens an epoch, one thread")
    print("| tool | tokens / processor second | times ours takes | tokens / second | peak MiB |")
    print("| --- | ---: | ---: | ---: | ---: |")
    first = 0.0
    for tool in tools:
        processor, clock = (
            statistics.median(epoch[key] for epoch in tool.epochs) for key in ("processor", "clock")
        )
        first = first or processor
        memory = max(epoch["memory"] for epoch in tool.epochs)
        print(
            f"| {tool.name} | {num_tokens / processor:,.0f} | {processor / first:.2f} "
            f"| {num_tokens / clock:,.0f} | {memory:,.0f} |"
        )


def _stages(options: argparse.Namespace, precision: str) -> dict[str, Any]:
    command = [sys.executable, str(FOLDER / "_train_ours.py"), *_sizes(options), precision]
    run = subprocess.run(
        [*command, "--stages"], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    if run.returncode:
        raise SystemExit(run.stderr)
    return dict(json.loads(run.stdout.splitlines()[-1]))


def _print_stages(precision: str, record: dict[str, Any], num_tokens: int) -> None:
    spent: dict[str, float] = record["spent"]
    total = sum(spent.values())
    print(f"\nwhere the time goes, {precision}: microseconds of processor time a token")
    print("| part | forward | backward | share |")
    print("| --- | ---: | ---: | ---: |")
    for part in [part for part in spent if not part.endswith("backward")]:
        back = spent.get(f"{part}, backward")
        whole = spent[part] + (back or 0.0)
        cells = [
            f"{1e6 * s / num_tokens:.2f}" if s is not None else "" for s in (spent[part], back)
        ]
        print(f"| {part} | {cells[0]} | {cells[1]} | {100 * whole / total:.0f} % |")
    print(f"| all | {1e6 * total / num_tokens:.2f} | | 100 % |")
    rate = record["work"] / (spent["LSTM"] + spent["LSTM, backward"])
    print(
        f"\nThe LSTM does {rate / 1e9:.0f} GFLOP/s, {100 * rate / record['rate']:.0f} % of a large "
        f"{precision} matrix product ({record['rate'] / 1e9:.0f} GFLOP/s)."
    )
