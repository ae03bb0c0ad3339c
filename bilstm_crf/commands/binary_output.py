"""Where results go that are written as they come: standard output, or a file."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from bilstm_crf.errors import RunError


@contextmanager
def binary_output(target: str) -> Iterator[BinaryIO]:
    """Open an output of bytes, so that no locale has a say in it.

    A regular file gets its name only when all is written; an error leaves nothing behind, and
    what was there stays. Pipes and devices are written to directly.

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
