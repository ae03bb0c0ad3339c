"""SIGINT and SIGTERM: one asks a long command to stop at the next good moment, two stop now."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from bilstm_crf.console import say

if TYPE_CHECKING:
    from bilstm_crf.training.processes import Processes

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_ECHO_SECONDS = 2.0


class Interrupted(BaseException):
    """The user or the system asked to stop; not an error, and not to be taken for one.

    Args:
        message: what was kept and how to go on.
        signal_number: which signal; the exit code is 128 more.
    """

    def __init__(self, message: str, signal_number: int):
        super().__init__(message)
        self.signal_number = signal_number


def stop_at_once_on_signals() -> None:
    """Let both signals raise Interrupted wherever the program is, from now on."""

    def stop(number: int, frame: FrameType | None) -> NoReturn:
        raise Interrupted("stopped", number)

    for number in _SIGNALS:
        signal.signal(number, stop)


class StopSignals:
    """What the signals do while a model is trained.

    Args:
        processes: the group; what starts it passes a signal on that its members got as well, so
            there a second one counts only after a moment.

    Attributes:
        received: the signals that came, in order.
    """

    def __init__(self, processes: "Processes"):
        self.received: list[int] = []
        self._processes = processes
        self._is_at_once = False
        self._first_time = 0.0

    @contextmanager
    def handled(self, ask_to_stop: Callable[[], None]) -> Iterator[None]:
        """Let the first signal ask to stop and the second raise Interrupted.

        Outside the main thread, where Python delivers no signals, nothing changes.

        Args:
            ask_to_stop: called by the first signal.
        """

        def handle(number: int, frame: FrameType | None) -> None:
            if self._is_echo():
                return
            self.received.append(number)
            if self._is_at_once or len(self.received) > 1:
                raise Interrupted("stopped", number)
            self._first_time = time.monotonic()
            ask_to_stop()
            if self._processes.rank == 0:
                say("stopping after this step; once more to stop now")

        try:
            before = {number: signal.signal(number, handle) for number in _SIGNALS}
        except ValueError:
            before = {}
        try:
            yield
        finally:
            for number, handler in before.items():
                # None stands for a handler that was not set from Python.
                signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _is_echo(self) -> bool:
        since = time.monotonic() - self._first_time
        return self._processes.count > 1 and bool(self.received) and since < _ECHO_SECONDS

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Let already the first signal raise Interrupted, where nothing is lost by it."""
        self._is_at_once = True
        try:
            yield
        finally:
            self._is_at_once = False
