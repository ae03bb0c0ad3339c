"""The base of all settings sections: typed, frozen, unknown keys refused, every key documented."""

from typing import Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator


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


def chosen_by_type(default: str) -> tuple[Discriminator, BeforeValidator]:
    """Return what makes a union of sections choose its member by the key ``type``.

    A union lists its members as ``Annotated[XSection, Tag("x")]``. In YAML, ``key: {type: x,
    ...}`` chooses a member, ``key: x`` the same with its defaults, and no ``type`` means ``default``.
    """

    def tag_of(value: Any) -> str | None:
        if isinstance(value, dict):
            return str(value.get("type", default))
        return getattr(value, "type", None)

    def word_to_mapping(value: Any) -> Any:
        return {"type": value} if isinstance(value, str) else value

    return Discriminator(tag_of), BeforeValidator(word_to_mapping)
