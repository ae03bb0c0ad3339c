"""YAML as people mean it: the safe subset, numbers and words as written, every key's place known.

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
_MAX_BYTES = 2**20
_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "int", "float", "bool", "null")}


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


class _PlainDumper(yaml.SafeDumper):
    """A SafeDumper that quotes whatever either reader, PyYAML's or ours, takes for no text."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: _PlainDumper, text: str) -> yaml.ScalarNode:
    # Other styles fold line breaks, of which Unicode has more than one expects.
    style = '"' if any(char in text for char in "\r\n\x85\u2028\u2029") else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_PlainDumper.add_representer(str, _represent_text)
for first, resolvers in _StrictLoader.yaml_implicit_resolvers.items():
    for tag, expression in resolvers:
        _PlainDumper.add_implicit_resolver(tag, expression, [first])


def _is_leading_zero(text: str) -> bool:
    return re.fullmatch(r"[-+]?0[0-9]+", text) is not None


class Document:
    """A read YAML mapping together with the place of each of its keys.

    Attributes:
        values: the mapping, of plain Python types.
        places: where each key path, such as ``("training", "epochs")``, was given: ``file:line``
            or the option that set it. In the order of the file.
        name: the file, or whatever the text came from; used in messages.
    """

    def __init__(self, text: str, name: str):
        self.name = name
        self.places: dict[KeyPath, str] = {}
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
            reason = " ".join(str(error).split()) or "nested too deeply"
            raise ConfigError(f"{name}: not valid YAML: {reason}") from None
        values = {} if node is None else self._read(loader, node, ())
        if values is None:
            values = {}
        if not isinstance(values, dict):
            raise ConfigError(f"{name}: expected keys and values, found {_kind(values)}")
        self.values: dict[str, Any] = values

    def place(self, path: KeyPath) -> tuple[int, str]:
        """Return where the deepest key on ``path`` that was given stands.

        Returns:
            Its number in the order of the file, and ``file:line`` or the option that set it.
        """
        for end in range(len(path), 0, -1):
            if path[:end] in self.places:
                return list(self.places).index(path[:end]), self.places[path[:end]]
        return len(self.places), self.name

    def override(self, path: KeyPath, value: Any, place: str) -> None:
        """Set a key, making sections on the way.

        Raises:
            ConfigError: something on the way is not a section.
        """
        values = self.values
        for part in path[:-1]:
            inner = values.get(str(part))
            if isinstance(inner, str):  # ``char_encoder: cnn`` is short for its type
                inner = {"type": inner}
            elif inner is None:
                inner = {}
            if not isinstance(inner, dict):
                raise ConfigError(f"{place}: {part} is not a section")
            values[str(part)] = inner
            values = inner
        values[str(path[-1])] = value
        for known in list(self.places):
            if known[: len(path)] == path:
                del self.places[known]
        self.places[path] = place

    def _read(self, loader: _StrictLoader, node: yaml.Node, path: KeyPath) -> Any:
        where = f"{self.name}:{node.start_mark.line + 1}"
        if len(path) > _MAX_DEPTH:
            raise ConfigError(f"{where}: nested deeper than {_MAX_DEPTH} levels")
        if isinstance(node, yaml.MappingNode) and node.tag.endswith(":map"):
            return self._read_mapping(loader, node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag.endswith(":seq"):
            return [self._read(loader, item, (*path, i)) for i, item in enumerate(node.value)]
        if node.tag not in _TAGS or not isinstance(node, yaml.ScalarNode):
            raise ConfigError(f"{where}: tags are not supported, found {node.tag}")
        if node.tag.endswith((":int", ":float")) and _is_leading_zero(node.value):
            return node.value
        try:
            return loader.construct_object(node)
        except yaml.MarkedYAMLError as error:
            raise ConfigError(f"{where}: {error.problem}") from None
        except (ValueError, KeyError, IndexError):  # ``!!bool maybe``, a number of 5,000 digits
            kind = node.tag.rsplit(":", 1)[1]
            raise ConfigError(f"{where}: not a {kind}: {node.value[:40]!r}") from None

    def _read_mapping(
        self, loader: _StrictLoader, node: yaml.MappingNode, path: KeyPath
    ) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            where = f"{self.name}:{key_node.start_mark.line + 1}"
            if not isinstance(key_node, yaml.ScalarNode):
                raise ConfigError(f"{where}: a key must be a word")
            key = key_node.value
            here = (*path, key)
            if key in result:
                raise ConfigError(
                    f"{where}: {dotted(here)}: given twice (first at {self.places[here]}); keep one"
                )
            self.places[here] = where
            result[key] = self._read(loader, value_node, here)
        return result


def read_yaml(path: Path) -> Document:
    """Read a YAML file; raise ConfigError if it is missing, not UTF-8 or not strict YAML."""
    if path.is_dir():
        raise ConfigError(f"{path.resolve()}: is a folder, expected a YAML file")
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError(f"{path.resolve()}: no such configuration file") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    if len(data) > _MAX_BYTES:
        raise ConfigError(f"{path}: larger than 1 MiB, which no configuration is; nothing was read")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{path}:{line}: not UTF-8 (byte 0x{data[error.start]:02x} at offset {error.start}); "
            "save it as UTF-8"
        ) from None
    return Document(text, str(path))


def parse_value(text: str, name: str) -> Any:
    """Read one value given on the command line, as YAML would read it after ``key:``.

    One character that is no letter or digit stands for itself, so that a delimiter needs no
    second pair of quotes; only ``~`` is YAML's null.

    Raises:
        ConfigError: it is no YAML value.
    """
    if len(text) == 1 and not text.isalnum() and text != "~":
        return text
    try:
        values = Document("value: " + (text if text.strip() else "''"), name).values
    except ConfigError as error:
        # The only line there is has no number that would help.
        raise ConfigError(str(error).replace(f"{name}:1: ", f"{name}: ", 1)) from None
    if list(values) != ["value"]:
        raise ConfigError(f"{name}: expected one value")
    return values["value"]


def write_yaml(values: Any, *, one_line: bool = False) -> str:
    """Return plain values as YAML that :class:`Document` reads back as equal values."""
    width = 100_000 if one_line else 100
    text = yaml.dump(values, Dumper=_PlainDumper, sort_keys=False, allow_unicode=True, width=width,
                     default_flow_style=one_line)  # fmt: skip
    return str(text.removesuffix("...\n"))


def dotted(path: KeyPath) -> str:
    """Write a key path the way it is given to ``--set``: ``training.optimizer.type``."""
    return ".".join(str(part) for part in path)


def _kind(value: Any) -> str:
    return "a list" if isinstance(value, list) else f"the single value {value!r}"
