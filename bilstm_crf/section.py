"""The base of all settings sections: typed, frozen, unknown keys refused, every key documented."""

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    ValidationInfo,
    field_validator,
)


class Section(BaseModel):
    """One section of the configuration, defined beside the component it sets up.

    The docstring under a field is its explanation, shown by ``bilstm-crf config``.
    Section objects are immutable; ``model_copy(update=...)`` gives a changed copy.
    """

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        allow_inf_nan=False,
        protected_namespaces=(),
        validate_default=True,
    )

    @field_validator("*", mode="before")
    @classmethod
    def _take_as_meant(cls, value: Any, info: ValidationInfo) -> Any:
        """Refuse true and false as numbers; read a section without keys as its defaults."""
        field = cls.model_fields[info.field_name or ""]
        if isinstance(value, bool) and bool not in set(types_in(field.annotation)):
            raise ValueError(f"true and false have no meaning here, found {str(value).lower()}")
        if value is None and sections_in(field.annotation):
            return {}
        return value


def types_in(annotation: Any) -> Iterator[Any]:
    """Yield all the types that an annotation is made of."""
    parts = get_args(annotation)
    if not parts:
        yield annotation
    for part in parts:
        yield from types_in(part)


def sections_in(annotation: Any) -> list[type[Section]]:
    """Return the section class of a field, or the classes of a union of sections."""
    return [t for t in types_in(annotation) if isinstance(t, type) and issubclass(t, Section)]


def chosen_by_type(default: str) -> tuple[Discriminator, BeforeValidator]:
    """Return what makes a union of sections choose its member by the key ``type``.

    A union lists its members as ``Annotated[XSection, Tag("x")]``. In YAML, ``key: {type: x,
    ...}`` chooses a member, ``key: x`` the same with its defaults; no ``type`` is ``default``.
    """

    def tag_of(value: Any) -> str | None:
        if isinstance(value, dict):
            return str(value.get("type", default))
        return getattr(value, "type", None)

    def word_to_mapping(value: Any) -> Any:
        return {"type": value} if isinstance(value, str) else value

    return Discriminator(tag_of), BeforeValidator(word_to_mapping)
