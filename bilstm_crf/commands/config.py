"""``bilstm-crf config``: every key with its default and its explanation."""

from collections.abc import Iterator
from typing import Any, get_args

import yaml
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from bilstm_crf.config import Config
from bilstm_crf.section import Section


def defaults_as_yaml() -> str:
    """Return the default configuration as YAML, each key explained by a comment above it."""
    return "\n".join(_lines(Config, None, 0)) + "\n"


def _lines(section: type[Section], values: Section | None, depth: int) -> Iterator[str]:
    for name, field in section.model_fields.items():
        value = (
            field.get_default(call_default_factory=True)
            if values is None
            else getattr(values, name)
        )
        members = _members(field)
        indent = "  " * depth
        comment = field.description or _summary(members)
        if not depth:
            yield ""
        for line in (comment or "").split("\n"):
            if line.strip():
                yield f"{indent}# {line.strip()}"
        if not members:
            yield f"{indent}{name}: {_scalar(value)}"
            continue
        chosen = type(value) if isinstance(value, Section) else members[0]
        yield f"{indent}{name}:"
        yield from _lines(chosen, value if isinstance(value, Section) else None, depth + 1)
        for other in members:
            if other is not chosen:
                yield f"{indent}  # or: {_summary([other])}"
                keys = (line.strip() for line in _lines(other, other(), 0))
                yield from (f"{indent}  #   {key}" for key in keys if key)


def _members(field: FieldInfo) -> list[type[Section]]:
    """Return the section class of a field, or the classes of a union of sections."""
    found: list[type[Section]] = []

    def visit(annotation: Any) -> None:
        if isinstance(annotation, type) and issubclass(annotation, Section):
            found.append(annotation)
        for argument in get_args(annotation):
            visit(argument)

    visit(field.annotation)
    return found


def _summary(members: list[type[Section]]) -> str:
    return (members[0].__doc__ or "").split("\n")[0] if members else ""


def _scalar(value: Any) -> str:
    if value is None or value is PydanticUndefined:
        return "null"
    plain = list(value) if isinstance(value, tuple) else value
    text = yaml.safe_dump(plain, default_flow_style=True, width=10_000)
    return str(text.removesuffix("...\n").strip())
