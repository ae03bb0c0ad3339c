"""Reads a model file without torch: a program that starts in a third of a second.

The file is torch's archive: a ZIP of one pickle and the bytes of each tensor. The unpickler here
builds arrays, dictionaries and plain types and knows no other name. A file that is in any way
unusual is not for this reader; :func:`bilstm_crf.prediction.model_file.load_model` opens it, or
says what is wrong with it.
"""

import io
import math
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.corpus.context import context_limit
from bilstm_crf.corpus.vocabulary import Vocabularies, Vocabulary, WordVocabulary

FORMAT, VERSION = "bilstm-crf model", 1

_TYPES = {
    "FloatStorage": np.float32,
    "HalfStorage": np.float16,
    "IntStorage": np.int32,
    "LongStorage": np.int64,
    "ByteStorage": np.uint8,
}

Array = NDArray[Any]


@dataclass(frozen=True)
class LightModel:
    """A model as arrays.

    Attributes:
        settings: the section ``model`` of its configuration.
        vocabularies: its words, characters, labels and column values.
        scheme: scheme of the model's labels.
        file_scheme: scheme of the training files.
        weights: the network's weights by name.
        record: how it was made.
        temperature: divisor of all scores before probabilities.
    """

    settings: Mapping[str, Any]
    vocabularies: Vocabularies
    scheme: str
    file_scheme: str
    weights: Mapping[str, Array]
    record: Mapping[str, Any]
    temperature: float


class UnusualModelError(Exception):
    """The file is not one that this reader is for."""


def read_light_model(path: Path) -> LightModel:
    """Read a model file.

    Raises:
        UnusualModelError: the file is missing, damaged, of another version, or odd in any way.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            content = _Archive(archive).content()
        if content["format"] != FORMAT or content["version"] != VERSION:
            raise UnusualModelError(f"{path}: another format")
        return _read(content)
    except UnusualModelError:
        raise
    except Exception as error:  # whatever a damaged file may lead to
        raise UnusualModelError(f"{path}: {type(error).__name__}: {error}") from None


class _Archive:
    """The entries of torch's ZIP file.

    Args:
        archive: open.
    """

    def __init__(self, archive: zipfile.ZipFile):
        self._archive = archive
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in archive.infolist()):
            raise UnusualModelError("compressed entries")
        (name,) = (n for n in archive.namelist() if n.endswith("/data.pkl"))
        self._prefix = name.removesuffix("data.pkl")
        if f"{self._prefix}byteorder" in archive.namelist():
            order = archive.read(f"{self._prefix}byteorder")
            if order != b"little":
                raise UnusualModelError("another byte order")

    def content(self) -> dict[str, Any]:
        """Return what was saved."""
        data = self._archive.read(f"{self._prefix}data.pkl")
        content = _Unpickler(io.BytesIO(data), self._storage).load()
        if not isinstance(content, dict):
            raise UnusualModelError("no dictionary")
        return content

    def _storage(self, kind: str, key: str, count: int) -> Array:
        numbers = np.frombuffer(self._archive.read(f"{self._prefix}data/{key}"), _TYPES[kind])
        if len(numbers) != count:
            raise UnusualModelError("a storage of another size")
        return numbers


class _Unpickler(pickle.Unpickler):
    """Builds arrays and plain types; knows no other name."""

    def __init__(self, file: io.BytesIO, storage: Any):
        super().__init__(file)
        self._storage = storage

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _array
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if module == "torch" and name in _TYPES:
            return name
        raise UnusualModelError(f"{module}.{name}")

    def persistent_load(self, identifier: Any) -> Array:
        what, kind, key, _, count = identifier
        if what != "storage":
            raise UnusualModelError(f"{what!r} instead of a storage")
        numbers: Array = self._storage(kind, key, count)
        return numbers


def _array(numbers: Array, first: int, shape: tuple[int, ...], stride: Any, *_: Any) -> Array:
    """Return the array that torch would build, if it lies in one piece."""
    sizes = list(accumulate(reversed(shape), lambda a, b: a * b, initial=1))
    expected = tuple(reversed(sizes[:-1]))
    if sizes[-1] and any(s != e for s, e, n in zip(stride, expected, shape, strict=True) if n > 1):
        raise UnusualModelError("an array in pieces")
    return numbers[first : first + sizes[-1]].reshape(shape)


def _read(content: dict[str, Any]) -> LightModel:
    model = LightModel(
        settings=content["model"],
        vocabularies=Vocabularies(
            words=WordVocabulary(
                _strings(content["trained_words"]), _strings(content["stored_words"])
            ),
            chars=Vocabulary(_strings(content["chars"])),
            labels=tuple(content["labels"]),
            columns={name: Vocabulary(_strings(v)) for name, v in content["columns"].items()},
        ),
        scheme=content["scheme"],
        file_scheme=content["file_scheme"],
        weights=content["weights"],
        record=content["record"],
        temperature=content["temperature"],
    )
    if not isinstance(model.temperature, float) or not 0 < model.temperature < math.inf:
        raise UnusualModelError("no temperature")
    context_limit(model.record.get("config", {}).get("data", {}))
    words, size = model.vocabularies.words, model.settings["word_embeddings"]["size"]
    for name, shape in (
        ("word_embeddings.weight", (words.num_trained, size)),
        ("word_embeddings.stored", (len(words.stored), size)),
        ("projection.bias", (len(model.vocabularies.labels),)),
    ):
        if model.weights[name].shape != shape:
            raise UnusualModelError(f"{name} of another shape")
    return model


def _strings(packed: Mapping[str, Array]) -> list[str]:
    """Return strings that were packed as their text and their lengths."""
    text = packed["bytes"].tobytes().decode("utf-8", "surrogatepass")
    ends = list(accumulate(packed["lengths"].tolist(), initial=0))
    if ends[-1] != len(text):
        raise UnusualModelError("strings whose lengths do not fit")
    return [text[start:end] for start, end in pairwise(ends)]
