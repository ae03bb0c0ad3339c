"""The folder of one training run: whose it is, and the files in it."""

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from bilstm_crf.errors import RunError

logger = logging.getLogger(__name__)

RUNS = Path("runs")
"""Where runs are looked for when none is named."""

_OWN_FILES = (
    "model.pt",
    "state.pt",
    "config.yaml",
    "metrics.jsonl",
    "report.json",
    "report.txt",
    "report.html",
    "analysis.json",
    "predictions.conll",
    "seeds.json",
)


class RunFolder:
    """A run folder, held by this process alone while it is open.

    Args:
        path: the folder; made if it is not there.
    """

    def __init__(self, path: Path):
        self.path = path.resolve()
        self._lock: IO[str] | None = None

    @property
    def model(self) -> Path:
        """The best model so far."""
        return self.path / "model.pt"

    @property
    def state(self) -> Path:
        """What a resume needs; gone once the run is finished."""
        return self.path / "state.pt"

    @property
    def config(self) -> Path:
        """The resolved configuration."""
        return self.path / "config.yaml"

    @property
    def metrics(self) -> Path:
        """One JSON line an epoch."""
        return self.path / "metrics.jsonl"

    @property
    def report(self) -> Path:
        """The final scores."""
        return self.path / "report.json"

    def open_new(self, *, overwrite: bool) -> None:
        """Make the folder and take it for this process.

        Args:
            overwrite: another run may be in it; its files stay until :meth:`clear`.

        Raises:
            RunError: it cannot be made or written, holds another run, or is in use.
        """
        if self.path.exists() and not self.path.is_dir():
            raise RunError(f"{self.path}: is a file, expected a folder for the run")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{self.path}: cannot be made: {error.strerror}") from None
        self.take()
        held = [name for name in _OWN_FILES if (self.path / name).exists()]
        if held and not overwrite:
            self.close()
            raise RunError(
                f"{self.path}: holds another run ({', '.join(held)}); choose another "
                "--output-dir, go on with it by --resume, or replace it with --overwrite"
            )

    def clear(self) -> None:
        """Remove the files of an earlier run.

        Raises:
            RunError: they cannot be removed.
        """
        try:
            for name in _OWN_FILES:
                (self.path / name).unlink(missing_ok=True)
            self._remove_leftovers()
        except OSError as error:
            raise RunError(f"{self.path}: cannot be written: {error.strerror}") from None

    def open_existing(self) -> None:
        """Take the folder of an interrupted run for this process.

        Raises:
            RunError: there is nothing to go on with, or the folder is in use.
        """
        self.check_resumable()
        self.take()
        self._remove_leftovers()

    def check_resumable(self) -> None:
        """Raise RunError unless the folder holds an interrupted run."""
        if not self.path.is_dir():
            found = "is a file, expected a run folder" if self.path.exists() else "no such folder"
            raise RunError(f"{self.path}: {found}")
        if self.report.exists() and not self.state.exists():
            raise RunError(f"{self.path}: this run is finished; there is nothing to resume")
        if not self.state.exists():
            raise RunError(f"{self.path}: no interrupted run in it (there is no state.pt)")

    def close(self) -> None:
        """Give the folder free."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def take(self) -> None:
        """Hold the folder until it is closed or this process ends.

        Raises:
            RunError: it cannot be written, or another process holds it.
        """
        try:
            lock = (self.path / ".lock").open("a", encoding="utf-8")
        except OSError as error:
            raise RunError(f"{self.path}: cannot be written: {error.strerror}") from None
        if not _lock_file(lock):
            lock.close()
            raise RunError(f"{self.path}: in use by another running training; wait or stop it")
        self._lock = lock

    def _remove_leftovers(self) -> None:
        """Remove what a write that was killed left behind."""
        for name in _OWN_FILES:
            for left in (*self.path.glob(f"{name}.tmp"), *self.path.glob(f"{name}.*.tmp")):
                left.unlink(missing_ok=True)

    def write_text(self, name: str, text: str) -> None:
        """Write a small file, whole or not at all.

        Raises:
            RunError: the folder cannot be written or the disk is full.
        """
        temporary = self.path / f"{name}.tmp"
        try:
            with temporary.open("w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.path / name)
        except OSError as error:
            raise RunError(f"{self.path / name}: cannot be written: {error.strerror}") from None
        finally:
            if self.path.is_dir():
                temporary.unlink(missing_ok=True)

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        self.write_text(name, json.dumps(value, indent=2, ensure_ascii=False) + "\n")

    def add_metrics(self, line: Mapping[str, Any]) -> None:
        """Add an epoch's line, replacing what an interrupted run wrote from that epoch on."""
        kept = [old for old in self.read_metrics() if old["epoch"] < line["epoch"]]
        lines = [json.dumps(entry, ensure_ascii=False) for entry in (*kept, line)]
        self.write_text("metrics.jsonl", "\n".join(lines) + "\n")

    def read_report(self) -> dict[str, Any]:
        """Return the content of ``report.json``."""
        return dict(json.loads(self.report.read_text(encoding="utf-8")))

    def read_metrics(self) -> list[dict[str, Any]]:
        """Return the lines of ``metrics.jsonl``, none if it is not there.

        Raises:
            RunError: a line is not one that a run wrote.
        """
        if not self.metrics.exists():
            return []
        entries = []
        for number, line in enumerate(self.metrics.read_text(encoding="utf-8").split("\n"), 1):
            try:
                if line:
                    entries.append({"epoch": 0, **json.loads(line)})
            except (ValueError, TypeError):
                raise RunError(f"{self.metrics}:{number}: not a line of JSON values") from None
        return entries


def _lock_file(file: IO[str]) -> bool:
    """Lock a file until it is closed or the process ends; False if another process holds it."""
    try:
        import fcntl
    except ImportError:  # Windows: the lock file then only marks the folder
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:  # some network file systems know no locks
        logger.warning("%s: cannot be locked (%s)", file.name, error.strerror)
    return True


def newest_run(root: Path) -> Path:
    """Return the run folder under ``root`` whose model was written last.

    Raises:
        RunError: there is none.
    """
    models = sorted(root.glob("**/model.pt"), key=lambda path: path.stat().st_mtime)
    if not models:
        raise RunError(f"{root.resolve()}: no finished run in it; train one, or name a model file")
    return models[-1].parent
