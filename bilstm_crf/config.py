"""The whole configuration: the sections put together, read from YAML and written back."""

from collections.abc import Iterable
from pathlib import Path

from pydantic import Field, ValidationError, model_validator

from bilstm_crf.config_errors import explain
from bilstm_crf.corpus.data_section import expand_paths
from bilstm_crf.corpus.labels import LabelsSection
from bilstm_crf.corpus.readers import DataSection
from bilstm_crf.errors import ConfigError, DataError
from bilstm_crf.model.tagger import ModelSection
from bilstm_crf.section import Section
from bilstm_crf.strict_yaml import (
    Document,
    KeyPath,
    dotted,
    parse_value,
    read_yaml,
    write_yaml,
)
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

    @model_validator(mode="after")
    def _check(self) -> "Config":
        if self.data.dev is None:
            if self.training.patience is not None:
                raise ValueError("training.patience needs data.dev, which chooses the best epoch")
            if self.training.schedule.type == "plateau":
                raise ValueError("training.schedule plateau needs data.dev, whose F1 it follows")
        model = self.model
        if model.crf.decoding == "expected_f1":
            if model.head != "crf":
                raise ValueError("model.crf.decoding: expected_f1 needs model.head: crf")
            if self.labels.model_scheme in ("IO", "IOB1"):
                raise ValueError(
                    "model.crf.decoding: expected_f1 needs a labels.model_scheme whose labels say "
                    f"where an entity begins, such as BIOES, not {self.labels.model_scheme}"
                )
        sees_forms = model.word_embeddings.size or model.form_embeddings.size
        if not sees_forms and model.char_encoder.type == "none" and not self.data.features:
            raise ValueError(
                "model.word_embeddings.size, model.form_embeddings.size and model.char_encoder "
                "leave the network nothing to see; turn one of them on"
            )
        return self

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
        return write_yaml(self.model_dump(mode="json"))


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
    return _load(path, overrides)[1]


def load_training_config(path: str | Path, overrides: Iterable[str] = ()) -> Config:
    """Read a configuration to train with: :func:`load_config`, and its files must be there.

    Raises:
        ConfigError: as in ``load_config``; or files are missing, each with file, line and the
            full path that was looked for.
    """
    document, config = _load(path, overrides)
    _check_files(config, document)
    return config


def check_files(config: Config) -> None:
    """Raise ConfigError unless there is something to train on and all named files are there."""
    _check_files(config, None)


def validate(document: Document) -> Config:
    """Turn a read document into a Config; raise ConfigError listing everything wrong with it."""
    try:
        return Config.model_validate(document.values)
    except ValidationError as error:
        raise ConfigError(explain(error.errors(), document, Config)) from None


def _load(path: str | Path, overrides: Iterable[str]) -> tuple[Document, Config]:
    path = Path(path)
    document = read_yaml(path)
    for override in overrides:
        _apply_override(document, override)
    return document, validate(document).resolve(path.resolve().parent)


def _apply_override(document: Document, override: str) -> None:
    key, equals, text = override.partition("=")
    path = tuple(key.strip().split("."))
    if not equals or not all(path):
        raise ConfigError(f"--set {override}: expected key=value, such as training.epochs=3")
    place = f"--set {override}"
    document.override(path, parse_value(text, place), place)


def _check_files(config: Config, document: Document | None) -> None:
    faults = []
    for path, files in _named_files(config).items():
        for file in files:
            try:
                expand_paths([file])
            except DataError as error:
                number, place = document.place(path) if document else (0, "")
                where = f"{place}: " if place else ""
                faults.append((number, f"{where}{dotted(path)}: {error}"))
    if not config.data.train:
        number, place = document.place(("data", "train")) if document else (0, "")
        where = f"{place}: " if place else ""
        faults.append((number, f"{where}data.train: missing; name the file to train on"))
    if faults:
        raise ConfigError("\n".join(text for _, text in sorted(faults, key=lambda f: f[0])))


def _named_files(config: Config) -> dict[KeyPath, list[str]]:
    data = config.data
    values = {
        ("data", "train"): data.train,
        ("data", "dev"): data.dev,
        ("data", "test"): data.test,
        ("model", "word_embeddings", "vectors"): config.model.word_embeddings.vectors,
    }
    return {
        path: [value] if isinstance(value, str) else list(value or ())
        for path, value in values.items()
    }
