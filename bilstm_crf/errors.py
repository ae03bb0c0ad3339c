"""What can go wrong for a user, as one small tree of exceptions.

    BilstmCrfError              any mistake a user can mend; shown as one line, exit code 1
    ├── ConfigError             a key, value or path in the configuration
    ├── DataError               a corpus, vectors or input file; carries file and line
    ├── ModelFileError          a file that is not a usable model or training state
    ├── RunError                a run folder or output not writable, a run that cannot go on
    └── MissingExtraError       an optional package that is not installed

A message says where, what was found, what was expected and what to do. Everything
else that is raised is a bug in this package and keeps its traceback.
"""

from pathlib import Path


class BilstmCrfError(Exception):
    """Any mistake a user can mend."""


class ConfigError(BilstmCrfError):
    """A key, a value or a path in the configuration is wrong."""


class DataError(BilstmCrfError):
    """A line of a corpus, vectors or input file is wrong.

    Args:
        message: what was found, what was expected, what to do.
        path: the file, if it is known.
        line: its line, counted from 1, if it is known.
    """

    def __init__(self, message: str, path: str | Path | None = None, line: int | None = None):
        self.path, self.line = path, line
        name = "standard input" if str(path) == "-" else path
        where = "" if path is None else f"{name}:" if line is None else f"{name}:{line}:"
        super().__init__(f"{where} {message}".strip())


class ModelFileError(BilstmCrfError):
    """A file is not a model or training state that this version can use."""


class RunError(BilstmCrfError):
    """A run cannot start or go on: folder taken, output not writable, loss not finite."""


class MissingExtraError(BilstmCrfError):
    """An optional package is needed and not installed.

    Args:
        package: the import name that is missing.
        extra: the extra of this project that brings it.
        purpose: what it is needed for.
    """

    def __init__(self, package: str, extra: str, purpose: str):
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed; "
            f"install it with: pip install 'bilstm-crf[{extra}]'"
        )
