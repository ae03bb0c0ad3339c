"""The files that a model was made from, read as its configuration says."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from bilstm_crf.commands.reading_options import reading_options
from bilstm_crf.corpus.readers import read_split
from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.errors import DataError
from bilstm_crf.prediction.model_file import TrainedModel


class ModelData:
    """Reads labelled files for a model.

    Args:
        model: its record holds the configuration.
        overrides: ``data.x=value`` and ``labels.x=value``, for files that are laid out otherwise.

    Raises:
        ConfigError: a key or value is wrong.
    """

    def __init__(self, model: TrainedModel, overrides: Sequence[str] = ()):
        config = model.record.get("config", {})
        sections = {name: config.get(name, {}) for name in ("data", "labels")}
        options = reading_options(overrides, sections)
        self._data, self._settings = options.data, options.reader_settings()

    def held_out(self) -> tuple[Literal["test", "dev"], list[Path]] | None:
        """Return the test files of the configuration, else its dev files, None without both.

        Raises:
            DataError: a file is no longer there.
        """
        if files := self._data.files("test"):
            return "test", files
        if files := self._data.files("dev"):
            return "dev", files
        return None

    def training_files(self) -> list[Path]:
        """Return the training files; DataError if one is no longer there."""
        return self._data.files("train")

    def read(self, files: Sequence[Path]) -> list[Sentence]:
        """Read labelled files that are laid out as the training files are.

        Raises:
            DataError: a file cannot be read, or there is no sentence in them.
        """
        sentences = list(read_split(files, self._settings))
        if not sentences:
            raise DataError("no sentences in it", files[0])
        return sentences
