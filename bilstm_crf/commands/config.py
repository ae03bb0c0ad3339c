"""``bilstm-crf config``: every key with its default and its explanation."""

from collections.abc import Iterator
from typing import Any

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from bilstm_crf.config import Config
from bilstm_crf.section import Section, sections_in
from bilstm_crf.strict_yaml import write_yaml


def defaults_as_yaml() -> str:
    """Return the default configuration as YAML, each key explained by a comment above it.

    With ``data.train`` filled in it is a configuration that loads to the defaults.
    """
    return "\n".join(_lines(Config, None, 0)).strip("\n") + "\n"


def _lines(section: type[Section], values: Section | None, depth: int) -> Iterator[str]:
    """Yield the keys of a section.

    Args:
        section: its class.
        values: the values to show; those of the class if None.
        depth: sections around it.
    """
    indent = "  " * depth
    # The type decides which keys there are, so it comes first.
    for name, field in sorted(section.model_fields.items(), key=lambda item: item[0] != "type"):
        value = field.get_default(call_default_factory=True)
        if values is not None:
            value = getattr(values, name)
        if depth == 0:
            yield ""
        members = sections_in(field.annotation)
        for line in _explanation(name, field, section, members):
            yield f"{indent}# {line}"
        if not members:
            yield f"{indent}{name}: {_scalar(value)}"
            continue
        chosen = type(value) if isinstance(value, Section) else members[0]
        yield f"{indent}{name}:"
        yield from _lines(chosen, value if isinstance(value, Section) else None, depth + 1)
        for other in members:
            if other is not chosen:
                yield f"{indent}  # or:"
                yield from (f"{indent}  #   {line}" for line in _lines(other, None, -1))


def _explanation(
    name: str, field: FieldInfo, section: type[Section], members: list[type[Section]]
) -> list[str]:
    if field.description:
        return [line.strip() for line in field.description.splitlines()]
    if name == "type":
        return [_summary(section)]
    if len(members) == 1:
        return [_summary(members[0])]
    names = [str(member.model_fields["type"].default) for member in members]
    return [f"Its type is one of {', '.join(names)}."] if names else []


def _summary(section: type[Section]) -> str:
    return (section.__doc__ or "").partition("\n")[0]


def _scalar(value: Any) -> str:
    if value is None or value is PydanticUndefined:
        return "null"
    return write_yaml(list(value) if isinstance(value, tuple) else value, one_line=True).strip()
