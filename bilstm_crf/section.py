"""The base of all settings sections: typed, frozen, unknown keys refused, every key documented."""

from pydantic import BaseModel, ConfigDict


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
    )
