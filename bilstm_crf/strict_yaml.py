"""YAML as people mean it: the safe subset, numbers and words as written, every key's line known.

Plain YAML 1.1 reads ``1e-3`` as text, ``NO`` as false, ``12:30`` as 750, ``007`` as 7, and takes
the last of two equal keys without a word. Here only ``true`` and ``false`` are booleans, a number
is what Python calls a decimal number, everything else is text, and a key given twice is an error.
"""

import re
from pathlib import Path
from typing import Any

import yaml

from bilstm_crf.errors import ConfigError

KeyPath = tuple[str | int, ...]

_MAX_DEPTH = 30


class _StrictLoader(yaml.SafeLoader):
    """A SafeLoader with fewer types and no aliases (with them a few lines unfold to gigabytes)."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(
                problem="aliases (*name) are not supported", problem_mark=mark
            )
        return super().compose_node(parent, index)


for tag, pattern, first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("null", r"~|null|Null|NULL|", "~nN\0"),
):
    _StrictLoader.add_implicit_resolver(
        f"tag:yaml.org,2002:{tag}",
        re.compile(f"^(?:{pattern})$"),
        ["" if c == "\0" else c for c in first],
    )


def _is_leading_zero(text: str) -> bool:
    return re.fullmatch(r"[-+]?0[0-9]+", text) is not None


class Document:
    """A read YAML mapping together with the line of each of its keys.

    Attributes:
        values: the mapping, of plain Python types.
        lines: the line, counted from 1, of each key path, such as ``("training", "epochs")``.
        name: the file, or whatever the text came from; used in messages.
    """

    def __init__(self, text: str, name: str):
        self.name = name
        self.lines: dict[KeyPath, int] = {}
        try:
            loader = _StrictLoader(text)
            node = loader.get_single_node()
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            where = name if mark is None else f"{name}:{mark.line + 1}"
            raise ConfigError(
                f"{where}: not valid YAML: {error.problem or error.context}"
            ) from None
        except (yaml.YAMLError, RecursionError, ValueError) as error:
            reason = str(error).replace("\n", " ") or "nested too deeply"
            raise ConfigError(f"{name}: not valid YAML: {reason}") from None
        values = {} if node is None else self._read(loader, node, ())
        if not isinstance(values, dict):
            raise ConfigError(f"{name}: expected keys and values, found {_kind(values)}")
        self.values: dict[str, Any] = values

    def where(self, path: KeyPath) -> str:
        """Return ``file:line`` of the deepest key on ``path`` that stands in the file."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.lines:
                return f"{self.name}:{self.lines[path[:end]]}"
        return self.name

    def _read(self, loader: _StrictLoader, node: yaml.Node, path: KeyPath) -> Any:
        line = node.start_mark.line + 1
        if len(path) > _MAX_DEPTH:
            raise ConfigError(f"{self.name}:{line}: nested deeper than {_MAX_DEPTH} levels")
        if isinstance(node, yaml.MappingNode):
            return self._read_mapping(loader, node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._read(loader, item, (*path, i)) for i, item in enumerate(node.value)]
        if node.tag.endswith((":int", ":float")) and _is_leading_zero(node.value):
            return node.value
        try:
            return loader.construct_object(node)
        except yaml.MarkedYAMLError as error:
            raise ConfigError(f"{self.name}:{line}: {error.problem}") from None
        except ValueError as error:
            raise ConfigError(f"{self.name}:{line}: {error}") from None

    def _read_mapping(
        self, loader: _StrictLoader, node: yaml.MappingNode, path: KeyPath
    ) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise ConfigError(f"{self.name}:{line}: a key must be a word")
            key = key_node.value
            here = (*path, key)
            if key in result:
                raise ConfigError(
                    f"{self.name}:{line}: {dotted(here)}: given twice "
                    f"(first on line {self.lines[here]}); keep one"
                )
            self.lines[here] = line
            result[key] = self._read(loader, value_node, here)
        return result


def read_yaml(path: Path) -> Document:
    """Read a YAML file; raise ConfigError if it is missing, not UTF-8 or not strict YAML."""
    if path.is_dir():
        raise ConfigError(f"{path.resolve()}: is a folder, expected a YAML file")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"{path.resolve()}: no such configuration file") from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: not UTF-8 (byte offset {error.start}); save it as UTF-8"
        ) from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    return Document(text, str(path))


def parse_value(text: str, name: str) -> Any:
    """Read one value given on the command line, as YAML would read it after ``key:``."""
    document = Document("value: " + text, name) if text.strip() else Document("value: ''", name)
    return document.values["value"]


def dotted(path: KeyPath) -> str:
    """Write a key path the way it is given to ``--set``: ``training.optimizer.type``."""
    return ".".join(str(part) for part in path)


def _kind(value: Any) -> str:
    return "a list" if isinstance(value, list) else f"the single value {value!r}"
