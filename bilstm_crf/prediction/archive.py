"""Files of tensors and plain types: written whole or not at all, read without trusting them.

The form is torch's own archive (a ZIP of one pickle and the tensors' bytes), read with
``weights_only=True``, which builds tensors and plain types and runs nothing. Beyond that, a file
must not be able to make the program crash, hang or fill the memory, so what it holds is checked
against its size before anything is worked out from it.
"""

import os
import pickle
import stat
import tempfile
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import IO, Any, cast

import torch
from torch import Tensor

from bilstm_crf.errors import ModelFileError, RunError

_MOST_BYTES = 16 * 2**30
_MOST_ENTRIES = 100_000
_MOST_VALUES = 2_000_000
_MOST_TEXT = 200_000_000
_DEEPEST = 40

_PLAIN = (type(None), bool, int, float, str)


def save_archive(content: dict[str, Any], path: Path, kind: str, version: int) -> None:
    """Write an archive beside its place and move it there: whole or not at all.

    Args:
        content: tensors and plain types.
        path: where to.
        kind: what the file says it is.
        version: of the layout of ``content``.

    Raises:
        RunError: the folder cannot be written or the disk is full; an older file is left as it was.
    """
    temporary: str | None = None
    file: _Writer | None = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=path.name + ".", suffix=".tmp", dir=path.parent)
        with os.fdopen(handle, "wb") as raw:
            file = _Writer(raw)
            whole = {"format": kind, "version": version, **content}
            torch.save(whole, cast(IO[bytes], file))
            raw.flush()
            os.fsync(raw.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
        temporary = None
    except (OSError, RuntimeError) as error:
        # Torch tells only that the file is too short; the reason is what the write said.
        cause = file.error if file is not None and file.error is not None else error
        reason = getattr(cause, "strerror", None) or str(cause).partition("\n")[0]
        raise RunError(f"{path}: cannot be written: {reason}") from None
    finally:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


class _Writer:
    """The part of a file that ``torch.save`` needs, remembering why a write failed."""

    def __init__(self, file: IO[bytes]):
        self._file = file
        self.error: OSError | None = None

    def write(self, data: Any) -> int:
        try:
            return self._file.write(data)
        except OSError as error:
            self.error = error
            raise

    def flush(self) -> None:
        self._file.flush()


def load_archive(path: Path, kind: str, newest: int) -> dict[str, Any]:
    """Open an archive without running anything in it.

    Args:
        path: the file.
        kind: what it must say it is, such as ``bilstm-crf model``.
        newest: the latest version that can be read.

    Returns:
        What was saved, with the entry ``version``. The tensors are views of the file.

    Raises:
        ModelFileError: the file is missing, foreign, damaged, too new, or holds more than
            tensors and plain types.
    """
    what = kind.removeprefix("bilstm-crf ")
    expected = f"; expected a {what} that bilstm-crf train wrote"
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            found = "a folder" if stat.S_ISDIR(status.st_mode) else "not a file of its own"
            raise ModelFileError(f"{path}: is {found}{expected}")
        if status.st_size > _MOST_BYTES:
            raise ModelFileError(f"{path}: larger than any {what} file can be; nothing was read")
        _check_container(path, status.st_size, expected)
        # Mapped into memory, no tensor can reach beyond the end of the file.
        content = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except FileNotFoundError:
        raise ModelFileError(f"{path}: no such file") from None
    except pickle.UnpicklingError:
        raise ModelFileError(
            f"{path}: holds other objects than tensors and plain values, so it was not opened; "
            f"it is no {what} of bilstm-crf"
        ) from None
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error.strerror or error}") from None
    except ModelFileError:
        raise
    except Exception as error:  # damage shows in many ways inside torch and zipfile
        raise ModelFileError(f"{path}: damaged ({type(error).__name__}){expected}") from None
    if not isinstance(content, dict) or content.get("format") != kind:
        raise ModelFileError(f"{path}: a torch file of another program{expected}")
    _check_values(content, path, status.st_size, expected)
    version = content.get("version")
    if not isinstance(version, int) or version < 1:
        raise ModelFileError(f"{path}: damaged (version {version!r}){expected}")
    if version > newest:
        raise ModelFileError(
            f"{path}: {what} format {version} of a newer bilstm-crf; this one reads formats up to "
            f"{newest}; upgrade with: pip install -U bilstm-crf"
        )
    return content


def _check_container(path: Path, size: int, expected: str) -> None:
    """Refuse what is no ZIP archive of torch's kind, or has a byte changed."""
    with path.open("rb") as file:
        is_archive = file.read(4) == b"PK\x03\x04" and zipfile.is_zipfile(file)
        if not is_archive:
            raise ModelFileError(f"{path}: no torch file, or cut short{expected}")
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            packed = any(entry.compress_type != zipfile.ZIP_STORED for entry in entries)
            unpacked = sum(entry.file_size for entry in entries)
            if packed or unpacked > size or len(entries) > _MOST_ENTRIES:
                raise ModelFileError(f"{path}: entries that unfold to more than the file{expected}")
            if archive.testzip() is not None:
                raise ModelFileError(f"{path}: damaged (a checksum does not fit); copy it again")


def _check_values(content: dict[str, Any], path: Path, size: int, expected: str) -> None:
    """Refuse other types than tensors and plain ones, and values that outgrow the file.

    The same list may stand in a pickle many times, in lists that stand many times; each mention
    counts, so that whoever walks through the values later comes to an end.
    """
    values = text = 0
    waiting: list[tuple[Any, int]] = [(content, 0)]
    while waiting:
        value, depth = waiting.pop()
        values += 1
        if isinstance(value, str):
            text += len(value)
        if values > _MOST_VALUES or text > _MOST_TEXT or depth > _DEEPEST:
            raise ModelFileError(f"{path}: more values than the file can honestly hold{expected}")
        if type(value) in (dict, OrderedDict):
            waiting += ((part, depth + 1) for pair in value.items() for part in pair)
        elif type(value) in (list, tuple):
            waiting += ((part, depth + 1) for part in value)
        elif type(value) is Tensor:
            _check_tensor(value, path, size, expected)
        elif type(value) not in _PLAIN or (isinstance(value, int) and abs(value) >= 2**64):
            raise ModelFileError(f"{path}: holds a {type(value).__name__}{expected}")


def _check_tensor(tensor: Tensor, path: Path, size: int, expected: str) -> None:
    is_plain = tensor.layout == torch.strided and tensor.device.type == "cpu"
    if not is_plain or not tensor.is_contiguous() or tensor.nbytes > size:
        raise ModelFileError(f"{path}: a tensor that is not what it seems{expected}")
