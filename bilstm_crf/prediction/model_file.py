"""The model file: one file that holds all that prediction needs, and nothing that runs.

It is a torch archive of tensors and plain types, opened with ``weights_only=True``: weights,
vocabularies, labels, the settings of the network, and a record of how it was made.
"""

import os
import pickle
import tempfile
import zipfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from torch import Tensor

from bilstm_crf.corpus.vocabulary import Vocabularies, Vocabulary, WordVocabulary
from bilstm_crf.errors import ModelFileError, RunError
from bilstm_crf.model.tagger import ModelSection, TaggerNetwork
from bilstm_crf.prediction.packed_strings import pack_strings, unpack_strings
from bilstm_crf.training.preparation import build_network

FORMAT = "bilstm-crf model"
VERSION = 1

_MOST_BYTES = 16 * 2**30
"""A larger archive is not opened."""


@dataclass(frozen=True)
class TrainedModel:
    """A trained tagger, apart from any device or file.

    Attributes:
        section: settings of the network.
        vocabularies: its words, characters, labels and column values.
        scheme: scheme of the model's labels.
        file_scheme: scheme of the training files, in which results are given.
        weights: the network's state dict.
        record: how it was made: config, scores, seed, versions, data fingerprints; plain types.
        temperature: divisor of all scores before probabilities; 1 until calibrated.
    """

    section: ModelSection
    vocabularies: Vocabularies
    scheme: str
    file_scheme: str
    weights: dict[str, Tensor]
    record: dict[str, Any] = field(default_factory=dict)
    temperature: float = 1.0

    def network(self) -> TaggerNetwork:
        """Return the network with its weights, on the CPU, ready for prediction."""
        network = build_network(self.section, self.vocabularies, self.scheme)
        try:
            network.load_state_dict(self.weights)
        except RuntimeError as error:
            reason = str(error).splitlines()[0]
            raise ModelFileError(f"the weights do not fit the model's settings: {reason}") from None
        return network.eval()

    def with_record(self, **entries: Any) -> "TrainedModel":
        """Return the model with entries added to its record."""
        return replace(self, record={**self.record, **entries})


def save_model(model: TrainedModel, path: Path) -> None:
    """Write a model file, whole or not at all.

    Raises:
        RunError: the file cannot be written; an older one is left as it was.
    """
    words = model.vocabularies.words
    content = {
        "format": FORMAT,
        "version": VERSION,
        "model": model.section.model_dump(mode="json"),
        "labels": list(model.vocabularies.labels),
        "scheme": model.scheme,
        "file_scheme": model.file_scheme,
        "trained_words": pack_strings(words.trained),
        "stored_words": pack_strings(words.stored),
        "chars": pack_strings(model.vocabularies.chars.strings),
        "columns": {n: pack_strings(v.strings) for n, v in model.vocabularies.columns.items()},
        "weights": {name: tensor.detach().cpu() for name, tensor in model.weights.items()},
        "temperature": model.temperature,
        "record": model.record,
    }
    save_whole(content, path)


def save_whole(content: dict[str, Any], path: Path) -> None:
    """Write a torch archive beside its place and move it there: whole or not at all.

    Raises:
        RunError: the folder cannot be written or the disk is full.
    """
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=path.name + ".", suffix=".tmp", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            torch.save(content, file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except (OSError, RuntimeError) as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise RunError(f"{path}: cannot be written: {reason}") from None


def load_archive(path: Path, expected: str) -> dict[str, Any]:
    """Open a torch archive of this package without running anything in it.

    Args:
        path: the file.
        expected: the value of its ``format`` entry.

    Raises:
        ModelFileError: the file is missing, foreign, damaged, too new, or holds more than
            tensors and plain types.
    """
    what = expected.removeprefix("bilstm-crf ")
    if path.is_dir():
        raise ModelFileError(f"{path}: is a folder, expected a {what} file")
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ModelFileError(f"{path}: larger than any {what} file can be; nothing was read")
        with path.open("rb") as file:
            head = file.read(4)
        if head != b"PK\x03\x04" or not zipfile.is_zipfile(path):
            raise ModelFileError(
                f"{path}: not a bilstm-crf {what} file (or cut short); expected what "
                "bilstm-crf train writes"
            )
        content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise ModelFileError(f"{path}: no such file") from None
    except pickle.UnpicklingError:
        raise ModelFileError(
            f"{path}: holds objects other than tensors and plain values, so it was not opened; "
            f"it is not a bilstm-crf {what} file"
        ) from None
    except OSError as error:
        raise ModelFileError(f"{path}: cannot be read: {error.strerror}") from None
    except ModelFileError:
        raise
    except Exception as error:  # damaged archives fail in many ways inside torch and zipfile
        reason = type(error).__name__
        raise ModelFileError(f"{path}: damaged {what} file ({reason}); copy it again") from None
    if not isinstance(content, dict) or content.get("format") != expected:
        raise ModelFileError(f"{path}: a torch file, but not a bilstm-crf {what} file")
    version = content.get("version")
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise ModelFileError(
            f"{path}: format version {version!r}; this program reads versions up to {VERSION}; "
            "upgrade bilstm-crf"
        )
    return content


def load_model(path: str | Path) -> TrainedModel:
    """Read a model file; see :func:`load_archive` for what is refused."""
    path = Path(path)
    content = load_archive(path, FORMAT)
    try:
        return TrainedModel(
            section=ModelSection.model_validate(content["model"]),
            vocabularies=Vocabularies(
                words=WordVocabulary(
                    unpack_strings(content["trained_words"]),
                    unpack_strings(content["stored_words"]),
                ),
                chars=Vocabulary(unpack_strings(content["chars"])),
                labels=tuple(map(str, content["labels"])),
                columns={n: Vocabulary(unpack_strings(v)) for n, v in content["columns"].items()},
            ),
            scheme=str(content["scheme"]),
            file_scheme=str(content["file_scheme"]),
            weights=dict(content["weights"]),
            record=dict(content["record"]),
            temperature=float(content["temperature"]),
        )
    except (KeyError, TypeError, ValueError, ValidationError, AttributeError) as error:
        reason = str(error).splitlines()[0][:200]
        raise ModelFileError(
            f"{path}: damaged model file: {type(error).__name__}: {reason}"
        ) from None
