"""Where results go: standard output, a pipe or device, or a file that is whole or not there."""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from bilstm_crf.errors import RunError


@contextmanager
def binary_output(target: str) -> Iterator[BinaryIO]:
    """Open an output of bytes, so that no locale has a say in it.

    A regular file gets its name only when all is written; an error leaves nothing behind, and
    what was there stays. Folders on the way are made. Pipes and devices are written to directly.

    Args:
        target: a path, or ``-`` for standard output.

    Raises:
        RunError: it cannot be written.
    """
    if target == "-":
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(target)
    direct = path.exists() and not path.is_file()
    part = path if direct else path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror}: {error.filename}") from None
    try:
        with part.open("wb") as stream:
            yield stream
        if not direct:
            os.replace(part, path)
    except OSError as error:
        if error.filename is not None and str(error.filename) != str(part):
            raise
        raise RunError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        if not direct:
            part.unlink(missing_ok=True)


def write_text(pieces: Iterable[str], target: str) -> None:
    """Write text piece by piece as UTF-8, with plain line feeds; see :func:`binary_output`.

    Raises:
        RunError: the output cannot be written.
    """
    with binary_output(target) as stream:
        for piece in pieces:
            stream.write(piece.encode("utf-8"))
