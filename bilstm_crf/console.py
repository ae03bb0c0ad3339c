"""The screen: log lines, the progress bar and tables; everything here but results is on stderr."""

import logging
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn, TextIO

if TYPE_CHECKING:
    from tqdm import tqdm


def set_up_logging(verbosity: int = 0) -> None:
    """Send log records to stderr, one plain line each.

    Of several processes that train one model, the first speaks for all.

    Args:
        verbosity: 0 shows what happens, 1 also details, -1 only warnings.
    """
    level = {-1: logging.WARNING, 0: logging.INFO}.get(verbosity, logging.DEBUG)
    if os.environ.get("RANK", "0") != "0":
        level = logging.ERROR
    handler = logging.StreamHandler()
    handler.setFormatter(_LineFormatter())
    logger = logging.getLogger("bilstm_crf")
    logger.handlers = [handler]
    logger.setLevel(level)
    logger.propagate = False


class _LineFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        text = record.getMessage()
        return f"{record.levelname.lower()}: {text}" if record.levelno >= logging.WARNING else text


def show_error(message: str) -> None:
    """Write an error to stderr, one line for each mistake."""
    for line in message.splitlines() or [""]:
        print(f"error: {line}", file=sys.stderr)


def say(message: str) -> None:
    """Write a line for the user to stderr."""
    print(message, file=sys.stderr, flush=True)


class EpochBar:
    """A bar over the steps of an epoch on a terminal; nothing elsewhere."""

    def __init__(self) -> None:
        self._bar: tqdm[NoReturn] | None = None

    def show(
        self, epoch: int, step: int, steps: int, loss: float, tokens_per_second: float
    ) -> None:
        """Draw the bar as it stands after a step."""
        if not _takes_decoration(sys.stderr):
            return
        if self._bar is None:
            self._bar = _new_bar(f"epoch {epoch}", steps)
        rate = f"{tokens_per_second:,.0f} tokens/s"
        self._bar.set_postfix_str(f"loss {loss:.3f}, {rate}", refresh=False)
        self._bar.update(step - self._bar.n)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class TokenBar:
    """A count of tokens and their rate on a terminal; nothing elsewhere.

    Args:
        output_is_shown: results go to standard output, so that no bar may be drawn among them
            where that is a terminal too.
    """

    def __init__(self, *, output_is_shown: bool):
        self._bar: tqdm[NoReturn] | None = None
        is_hidden = not (output_is_shown and sys.stdout.isatty())
        self._wanted = is_hidden and _takes_decoration(sys.stderr)

    def __enter__(self) -> "TokenBar":
        if self._wanted:
            from tqdm import tqdm

            self._bar = tqdm(unit=" tokens", unit_scale=True, leave=False, dynamic_ncols=True)
        return self

    def advance(self, num_tokens: int) -> None:
        """Count tokens that are done."""
        if self._bar is not None:
            self._bar.update(num_tokens)

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()


def _takes_decoration(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that nobody asked to keep plain."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream.isatty() and not plain


def _new_bar(description: str, total: int) -> "tqdm[NoReturn]":
    from tqdm import tqdm

    return tqdm(total=total, desc=description, unit="batch", leave=False, dynamic_ncols=True)


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, title: str | None = None
) -> None:
    """Write a table of results to stdout: ruled on a terminal, plain columns elsewhere.

    Plain is also for terminals that want no decoration (NO_COLOR, TERM=dumb), and for those too
    narrow for the rules, which would break numbers into pieces.
    """
    rows = [list(row) for row in rows]
    if _takes_decoration(sys.stdout):
        from rich.console import Console
        from rich.table import Table

        table = Table(title=title, title_justify="left")
        for number, name in enumerate(columns):
            table.add_column(name, justify="right" if number else "left", overflow="fold")
        for row in rows:
            table.add_row(*row)
        screen = Console()
        unlimited = screen.options.update(width=sys.maxsize)
        if screen.measure(table, options=unlimited).maximum <= screen.width:
            screen.print(table, markup=False)
            return
    if title:
        print(title)
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    for row in [list(columns), *rows]:
        cells = [
            cell.rjust(width) if number else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
