"""The model file: one file that holds all that prediction needs, and nothing that runs.

Weights, vocabularies, labels, the settings of the network, and a record of how it was made, in an
archive of tensors and plain types (see :mod:`bilstm_crf.prediction.archive`).

A change of the layout adds a step to ``UPGRADES``, which turns the layout before it into the new
one; so files of every version stay readable.
"""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from torch import Tensor

from bilstm_crf.corpus.context import context_limit
from bilstm_crf.corpus.label_ids import MOST_LABELS
from bilstm_crf.corpus.labels import SCHEMES, model_labels, split_label
from bilstm_crf.corpus.vocabulary import Vocabularies, Vocabulary, WordVocabulary
from bilstm_crf.errors import ModelFileError
from bilstm_crf.model.tagger import ModelSection, TaggerNetwork
from bilstm_crf.prediction.archive import load_archive, save_archive
from bilstm_crf.prediction.packed_strings import pack_strings, unpack_strings
from bilstm_crf.training.preparation import build_network, table_sizes

FORMAT = "bilstm-crf model"

UPGRADES: tuple[Callable[[dict[str, Any]], dict[str, Any]], ...] = ()
"""The step from version 1 to 2, from 2 to 3, ...; the newest version is one more than the steps."""


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
        """Return the network with its weights, on the CPU, ready for prediction.

        Raises:
            ModelFileError: the weights are not those of such a network.
        """
        self._check_weights()
        try:
            network = build_network(self.section, self.vocabularies, self.scheme)
        except ValueError as error:
            raise ModelFileError(
                f"the settings of the model do not fit together: {error}"
            ) from None
        network.load_state_dict(self.weights)
        return network.eval()

    def with_record(self, **entries: Any) -> "TrainedModel":
        """Return the model with entries added to its record."""
        return replace(self, record={**self.record, **entries})

    def in_half(self) -> "TrainedModel":
        """Return the model with its weights in float16: half the size, about 3 digits.

        Weights that float16 cannot hold (above 65,504) stay in float32.
        """
        weights = {}
        for name, tensor in self.weights.items():
            half = tensor.half() if tensor.is_floating_point() else tensor
            weights[name] = half if torch.isfinite(half).all() else tensor
        return replace(self, weights=weights)

    def weights_hash(self) -> str:
        """Return the SHA-256 of all weights: equal for equal models, whatever their record."""
        digest = hashlib.sha256()
        for name in sorted(self.weights):
            tensor = self.weights[name].detach().cpu().contiguous()
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)};".encode())
            digest.update(tensor.flatten().view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()

    def _check_weights(self) -> None:
        """Compare with the network that the settings ask for, before it takes much memory."""
        # The tables that settings alone could make huge come first. (Building the network on
        # torch's device "meta" would do without, but imports its compiler: a second of start.)
        hidden, words = self.section.lstm.hidden_size, self.section.word_embeddings.size
        rows = self.vocabularies.words.num_trained
        large = {
            "word_embeddings.weight": (rows, words),
            "word_embeddings.stored": (len(self.vocabularies.words.stored), words),
            **{
                f"lstm.{direction}_layers.{depth}.weight_hh_l0": (4 * hidden, hidden)
                for direction in ("forward", "backward")
                for depth in range(self.section.lstm.layers)
            },
        }
        for name, shape in large.items():
            if name not in self.weights:
                raise ModelFileError(f"the weights do not fit the model's settings: {name}")
            self._check_weight(name, shape)
        with torch.random.fork_rng(devices=[]):
            wanted = TaggerNetwork(self.section, table_sizes(self.vocabularies)).state_dict()
        if wanted.keys() != self.weights.keys():
            odd = sorted(wanted.keys() ^ self.weights.keys())
            raise ModelFileError(f"the weights do not fit the model's settings: {odd[0]}")
        for name, tensor in wanted.items():
            self._check_weight(name, tuple(tensor.shape))

    def _check_weight(self, name: str, shape: tuple[int, ...]) -> None:
        tensor = self.weights[name]
        if tensor.shape != shape or not tensor.is_floating_point():
            raise ModelFileError(
                f"the weights do not fit the model's settings: {name} is {tensor.dtype} "
                f"{list(tensor.shape)}, expected {list(shape)}"
            )


def newest_version() -> int:
    """Return the version of the layout that this program writes."""
    return len(UPGRADES) + 1


def save_model(model: TrainedModel, path: Path) -> None:
    """Write a model file, whole or not at all.

    Raises:
        RunError: the file cannot be written; an older one is left as it was.
    """
    words = model.vocabularies.words
    content = {
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
    save_archive(content, path, FORMAT, newest_version())


def load_model(path: str | Path) -> TrainedModel:
    """Read a model file.

    Raises:
        ModelFileError: the file is missing, foreign, damaged, too new, or holds what no model of
            this program holds; nothing in it is run.
    """
    path = Path(path)
    content = load_archive(path, FORMAT, newest_version())
    try:
        for upgrade in UPGRADES[content["version"] - 1 :]:
            content = upgrade(content)
        model = _read(content)
        model._check_weights()
    except ModelFileError as error:
        raise ModelFileError(f"{path}: damaged model: {error}") from None
    except (KeyError, TypeError, ValueError, ValidationError, AttributeError) as error:
        reason = f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"
        raise ModelFileError(f"{path}: damaged model: {reason}") from None
    return model


def _read(content: dict[str, Any]) -> TrainedModel:
    labels, scheme, file_scheme = content["labels"], content["scheme"], content["file_scheme"]
    weights, temperature = content["weights"], content["temperature"]
    if len(labels) > MOST_LABELS:
        raise ModelFileError(f"{len(labels)} labels, more than {MOST_LABELS}")
    if scheme not in SCHEMES or file_scheme not in SCHEMES:
        raise ModelFileError(f"unknown label scheme {scheme!r} or {file_scheme!r}")
    types = sorted({split_label(label)[1] for label in labels} - {""})
    if list(labels) != model_labels(types, scheme):
        raise ModelFileError(f"the labels are not those of the scheme {scheme}")
    if not all(isinstance(tensor, Tensor) for tensor in weights.values()):
        raise ModelFileError("weights that are no tensors")
    if not isinstance(temperature, float) or not 0 < temperature < math.inf:
        raise ModelFileError(f"temperature {temperature!r}")
    context_limit(content["record"].get("config", {}).get("data", {}))
    return TrainedModel(
        section=ModelSection.model_validate(content["model"]),
        vocabularies=Vocabularies(
            words=WordVocabulary(
                unpack_strings(content["trained_words"]), unpack_strings(content["stored_words"])
            ),
            chars=Vocabulary(unpack_strings(content["chars"])),
            labels=tuple(labels),
            columns={n: Vocabulary(unpack_strings(v)) for n, v in content["columns"].items()},
        ),
        scheme=scheme,
        file_scheme=file_scheme,
        weights=dict(weights),
        record=dict(content["record"]),
        temperature=temperature,
    )
