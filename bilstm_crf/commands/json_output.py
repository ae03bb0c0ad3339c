"""Results as JSON, in a file or on standard output."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bilstm_crf.errors import RunError


def write_json(value: Mapping[str, Any], target: str) -> None:
    """Write plain values as JSON in UTF-8, whatever the terminal's encoding.

    Args:
        value: what to write.
        target: a path, or ``-`` for standard output.

    Raises:
        RunError: the file cannot be written.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if target == "-":
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8"))
        sys.stdout.buffer.flush()
        return
    try:
        Path(target).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise RunError(f"{target}: cannot be written: {error.strerror}") from None
