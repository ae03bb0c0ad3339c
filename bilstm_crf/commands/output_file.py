"""Text results as UTF-8, in a file that is whole or not there, or on standard output."""

import contextlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from bilstm_crf.errors import RunError


def write_text(pieces: Iterable[str], target: str) -> None:
    """Write text piece by piece, with plain line feeds, whatever the locale.

    A file gets its name only when all is written, so that an error half-way leaves
    nothing behind and what was there stays.

    Args:
        pieces: the text.
        target: a path, or ``-`` for standard output.

    Raises:
        RunError: the file cannot be written.
    """
    if target == "-":
        sys.stdout.flush()
        for piece in pieces:
            sys.stdout.buffer.write(piece.encode("utf-8"))
        sys.stdout.buffer.flush()
        return
    path = Path(target)
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="utf-8", newline="\n") as stream:
            for piece in pieces:
                stream.write(piece)
        os.replace(part, path)
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        with contextlib.suppress(OSError):
            part.unlink()
