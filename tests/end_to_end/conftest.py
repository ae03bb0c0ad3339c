"""The command line run inside the test process or beside it, on a corpus of a few sentences."""

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bilstm_crf.cli import main
from bilstm_crf.commands import final_scores
from bilstm_crf.console import EpochBar
from bilstm_crf.strict_yaml import write_yaml

NAMES = ("Ada Berg", "Ole", "Mia Dahl", "Tor Lund", "Eva", "Nils Aas", "Kari", "Per Moe")
PLACES = ("Tarnvik", "North Hollow", "Ostby", "Grey Harbour", "Lakeside", "Fen")
PATTERNS = (
    "{name} went to {place} .",
    "Nobody in {place} knows {name} .",
    "{name} met {other} near {place} today .",
    "It rained all day .",
    "The ferry to {place} was late , said {name} .",
)


def corpus_text(count: int, *, first: int = 0) -> str:
    """Return sentences in BIO made from the patterns, each another filling."""
    blocks = []
    for number in range(first, first + count):
        fill = {
            "name": (NAMES[number % 8], "PER"),
            "other": (NAMES[(number * 3 + 1) % 8], "PER"),
            "place": (PLACES[number // 2 % 6], "LOC"),
        }
        rows = []
        for word in PATTERNS[number % 5].split():
            text, kind = fill.get(word.strip("{}"), (word, ""))
            for place, token in enumerate(text.split()):
                label = f"{'I' if place else 'B'}-{kind}" if kind else "O"
                rows.append(f"{token} {label}")
        blocks.append("\n".join(rows))
    return "\n\n".join(blocks) + "\n"


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def no_report_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the report page, a second of each run, unless a test puts it back."""
    monkeypatch.setattr(final_scores, "write_run_report", lambda folder, tagger: folder)


@pytest.fixture
def command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., Outcome]]:
    """Run the command line in this process; what it changed in it is put back afterwards."""
    handlers = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["bilstm-crf", *map(str, arguments)])
        capsys.readouterr()
        code: Any = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code or 0
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)
    logging.getLogger("bilstm_crf").handlers.clear()  # it writes to what pytest captured


@pytest.fixture
def command_beside() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command line in a process of its own; keywords are environment variables."""

    def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "bilstm_crf", *map(str, arguments)],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            env={**os.environ, **environment},
        )

    return run


@pytest.fixture
def make_config(tmp_path: Path) -> Callable[..., Path]:
    """Write a configuration of a small model and its corpus.

    Keywords are keys of the section ``training``; ``model`` and ``data`` are whole sections, merged
    over those here.
    """

    def make(
        name: str = "small",
        *,
        sentences: int = 24,
        data: dict[str, Any] | None = None,
        model: dict[str, Any] | None = None,
        **training: Any,
    ) -> Path:
        for split, count, first in (("train", sentences, 0), ("dev", 10, 3), ("test", 10, 50)):
            file = tmp_path / f"{split}.conll"
            if not file.exists():
                file.write_text(corpus_text(count, first=first), encoding="utf-8")
        values = {
            "seed": 3,
            "data": {split: f"{split}.conll" for split in ("train", "dev", "test")} | (data or {}),
            "model": {
                "word_embeddings": {"size": 12},
                "char_encoder": {"size": 8, "filters": 10},
                "lstm": {"hidden_size": 16},
                "dropout": {"inputs": 0.2, "outputs": 0.2},
                **(model or {}),
            },
            "training": {
                "epochs": 3, "epoch_steps": 1, "batch_size": 6,
                "optimizer": {"learning_rate": 0.02}, **training,
            },
        }  # fmt: skip
        path = tmp_path / f"{name}.yaml"
        path.write_text(write_yaml(values), encoding="utf-8")
        return path

    return make


@pytest.fixture
def signal_after_step(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a context in which a step, counted over all epochs, is followed by signals."""

    @contextmanager
    def within(step: int, *signals: int) -> Iterator[None]:
        counter, show = iter(range(1, 10_000)), EpochBar.show

        def count(*arguments: Any) -> None:
            show(*arguments)
            if next(counter) == step:
                for number in signals:
                    os.kill(os.getpid(), number)

        with monkeypatch.context() as patch:
            patch.setattr(EpochBar, "show", count)
            yield

    return within


@pytest.fixture
def ending(metrics_of: Callable, report_of: Callable) -> Callable[[Path], Any]:
    """Return what equal runs have in common: hash of the weights, and metrics but for times."""

    def read(run: Path) -> tuple[str, list[dict[str, Any]]]:
        metrics = metrics_of(run)
        for line in metrics:
            del line["seconds"], line["tokens_per_second"]
        return report_of(run)["weights_sha256"], metrics

    return read


@pytest.fixture
def metrics_of() -> Callable[[Path], list[dict[str, Any]]]:
    """Return the lines of a run's ``metrics.jsonl``."""

    def read(run: Path) -> list[dict[str, Any]]:
        text = (run / "metrics.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    return read


@pytest.fixture
def report_of() -> Callable[[Path], dict[str, Any]]:
    """Return a run's ``report.json``."""

    def read(run: Path) -> dict[str, Any]:
        return dict(json.loads((run / "report.json").read_text(encoding="utf-8")))

    return read
