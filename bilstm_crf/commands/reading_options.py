"""How to read files that a command is given without a configuration: ``--set data.x=...``."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from bilstm_crf.config_errors import explain
from bilstm_crf.corpus.data_section import DataSection, ReaderSettings
from bilstm_crf.corpus.labels import LabelsSection
from bilstm_crf.errors import ConfigError
from bilstm_crf.section import Section
from bilstm_crf.strict_yaml import Document, parse_value


class ReadingOptions(Section):
    """The sections of a configuration that say how files are read."""

    data: DataSection = DataSection()
    labels: LabelsSection = LabelsSection()

    def reader_settings(self) -> ReaderSettings:
        """Return what the readers need to know."""
        return self.data.reader_settings(self.labels)


def reading_options(
    overrides: Sequence[str], start: Mapping[str, Any] | None = None
) -> ReadingOptions:
    """Return settings changed by ``key=value`` pairs such as ``data.label_column=2``.

    Args:
        overrides: the pairs.
        start: sections ``data`` and ``labels`` to begin with; by default the defaults.

    Raises:
        ConfigError: a key or value is wrong.
    """
    document = Document("", "--set")
    for name, section in (start or {}).items():
        document.values[name] = dict(section)
    for override in overrides:
        key, equals, text = override.partition("=")
        path = tuple(key.strip().split("."))
        place = f"--set {override}"
        if path[:2] in (("data", "context"), ("data", "context_tokens")):
            raise ConfigError(f"{place}: is chosen for training, and the model file records it")
        if not equals or not all(path):
            raise ConfigError(f"{place}: expected key=value, such as data.label_column=2")
        document.override(path, parse_value(text, place), place)
    try:
        return ReadingOptions.model_validate(document.values)
    except ValidationError as error:
        raise ConfigError(explain(error.errors(), document, ReadingOptions)) from None
