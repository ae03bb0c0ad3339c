"""The whole configuration: the sections put together, read from YAML and written back."""

import difflib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field, ValidationError

from bilstm_crf.corpus.labels import LabelsSection
from bilstm_crf.corpus.readers import DataSection
from bilstm_crf.errors import ConfigError
from bilstm_crf.model.tagger import ModelSection
from bilstm_crf.section import Section
from bilstm_crf.strict_yaml import Document, KeyPath, dotted, parse_value, read_yaml
from bilstm_crf.training.settings import TrainingSection


class Config(Section):
    """Everything a run needs; only ``data`` has no default."""

    seed: int = Field(default=1, ge=0, lt=2**31)
    """Seed of every random choice; the same seed on the same machine gives the same weights."""

    output_dir: str | None = None
    """Run folder, relative to this file; by default runs/<name of this file>, relative to where the
    command runs."""

    data: DataSection
    labels: LabelsSection = LabelsSection()
    model: ModelSection = ModelSection()
    training: TrainingSection = TrainingSection()

    def resolve(self, base: Path) -> "Config":
        """Return the same configuration with every path made absolute, starting from ``base``."""
        output = None if self.output_dir is None else str((base / self.output_dir).resolve())
        return self.model_copy(
            update={
                "output_dir": output,
                "data": self.data.resolve(base),
                "model": self.model.resolve(base),
            }
        )

    def to_yaml(self) -> str:
        """Return the configuration as YAML that loads to an equal object."""
        return yaml.safe_dump(
            self.model_dump(mode="json"), sort_keys=False, allow_unicode=True, width=100
        )


def load_config(path: str | Path, overrides: Iterable[str] = ()) -> Config:
    """Read a configuration file.

    Args:
        path: the YAML file; relative paths in it start from its folder.
        overrides: ``key=value`` with a dotted key, such as ``training.epochs=3``; the value is
            read as YAML. Relative paths given here start from the file's folder as well.

    Raises:
        ConfigError: the file is missing or not strict YAML, or keys or values are wrong; all
            wrong keys are listed, each with file and line.
    """
    path = Path(path)
    document = read_yaml(path)
    for override in overrides:
        _apply_override(document, override)
    return validate(document).resolve(path.resolve().parent)


def validate(document: Document) -> Config:
    """Turn a read document into a Config; raise ConfigError listing everything wrong with it."""
    try:
        return Config.model_validate(document.values)
    except ValidationError as error:
        lines = [_explain(document, dict(item)) for item in error.errors()]
        raise ConfigError("\n".join(dict.fromkeys(lines))) from None


def _apply_override(document: Document, override: str) -> None:
    key, equals, text = override.partition("=")
    path = tuple(key.strip().split("."))
    if not equals or not all(path):
        raise ConfigError(f"--set {override}: expected key=value, such as training.epochs=3")
    values = document.values
    for part in path[:-1]:
        inner = values.setdefault(part, {})
        if isinstance(inner, str):  # ``char_encoder: cnn`` is short for its type
            inner = values[part] = {"type": inner}
        if inner is None:
            inner = values[part] = {}
        if not isinstance(inner, dict):
            raise ConfigError(f"--set {override}: {part} is not a section")
        values = inner
    values[path[-1]] = parse_value(text, f"--set {override}")
    for end in range(1, len(path) + 1):
        document.lines.pop(path[:end], None)


def _explain(document: Document, error: dict[str, Any]) -> str:
    """Turn one pydantic error into ``file:line: key: what is wrong``."""
    path = _without_union_tags(document.values, error["loc"])
    where, key = document.where(path), dotted(path) or "configuration"
    kind, value = error["type"], error.get("input")
    if kind == "extra_forbidden":
        known = _known_keys(path[:-1])
        close = difflib.get_close_matches(str(path[-1]), known, n=1, cutoff=0.6)
        elsewhere = _sections_with(str(path[-1]))
        if close:
            hint = f"; did you mean {close[0]!r}?"
        elif elsewhere:
            hint = f"; did you mean {' or '.join(elsewhere)}?"
        else:
            hint = f"; known keys: {', '.join(known)}" if known else ""
        return f"{where}: {key}: unknown key{hint}"
    if kind == "missing":
        return f"{where}: {key}: missing, and it has no default"
    if kind == "union_tag_invalid":
        tag, expected = error["ctx"]["tag"], error["ctx"]["expected_tags"]
        return f"{where}: {key}.type: {tag!r} is not one of {expected}"
    if kind in ("model_type", "model_attributes_type", "dict_type", "union_tag_not_found"):
        return f"{where}: {key}: expected a section of keys, found {value!r}"
    message = str(error["msg"]).removeprefix("Value error, ").replace("Input should", "should")
    shown = "" if isinstance(value, dict) or kind == "value_error" else f", found {value!r}"
    return f"{where}: {key}: {message}{shown}"


def _without_union_tags(values: Any, location: Sequence[str | int]) -> KeyPath:
    """Drop the names of union members that pydantic puts between the keys of the file."""
    path: list[str | int] = []
    for index, part in enumerate(location):
        is_last = index == len(location) - 1
        inside = isinstance(values, dict) and part in values
        if not inside and not is_last and path and part in _union_tags(tuple(path)):
            continue
        path.append(part)
        if inside or (isinstance(values, list) and isinstance(part, int) and part < len(values)):
            values = values[part]
        else:
            values = None
    return tuple(path)


def _schema_at(path: KeyPath) -> list[dict[str, Any]]:
    """Return the JSON schemas (several where a union stands) of the section at ``path``."""
    root = Config.model_json_schema()
    found = [root]
    for part in path:
        found = [
            branch
            for schema in found
            if str(part) in schema.get("properties", {})
            for branch in _branches(root, schema["properties"][str(part)])
        ]
    return found


def _branches(root: dict[str, Any], schema: dict[str, Any]) -> list[dict[str, Any]]:
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    members = schema.get("oneOf") or schema.get("anyOf") or schema.get("allOf")
    return [b for m in members for b in _branches(root, m)] if members else [schema]


def _known_keys(path: KeyPath) -> list[str]:
    return sorted({key for schema in _schema_at(path) for key in schema.get("properties", {})})


def _union_tags(path: KeyPath) -> set[str]:
    return {
        str(schema["properties"]["type"]["const"])
        for schema in _schema_at(path)
        if "const" in schema.get("properties", {}).get("type", {})
    }


def _sections_with(key: str) -> list[str]:
    """Return the dotted names under which ``key`` exists somewhere in the configuration."""
    root = Config.model_json_schema()
    found: list[str] = []

    def visit(schema: dict[str, Any], prefix: str) -> None:
        for name, inner in schema.get("properties", {}).items():
            if name == key and prefix + name not in found:
                found.append(prefix + name)
            for branch in _branches(root, inner):
                visit(branch, f"{prefix}{name}.")

    visit(root, "")
    return found
