"""The vectors of word forms, in numpy: word, characters, affixes and shape side by side."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.corpus.forms import FEATURE_KINDS, FEATURE_ROWS, FormTable
from bilstm_crf.model.numpy_lstm import FloatArray, NumpyBiLSTM
from bilstm_crf.model.packing import pack

Forms = NDArray[np.integer]
"""Numbers of forms in a table."""


class NumpyForms:
    """Encodes word forms as :meth:`bilstm_crf.model.tagger.TaggerNetwork.encode_forms` does.

    Args:
        weights: by name, as in the model file.
        settings: the section ``model`` of the configuration.
    """

    def __init__(self, weights: Mapping[str, NDArray[Any]], settings: Mapping[str, Any]):
        self._trained = weights["word_embeddings.weight"].astype(np.float32, copy=False)
        self._stored = weights["word_embeddings.stored"]
        self._features = weights["form_embeddings.weight"].astype(np.float32, copy=False)
        self._chars = _CHAR_ENCODERS[settings["char_encoder"]["type"]](
            {n: w.astype(np.float32) for n, w in weights.items() if n.startswith("char_encoder.")},
            settings["char_encoder"],
        )

    def vectors(self, forms: FormTable, numbers: Forms) -> FloatArray:
        """Return the (forms, size) vectors of some forms."""
        features = forms.features[numbers] + np.arange(len(FEATURE_KINDS)) * FEATURE_ROWS
        return np.concatenate(
            [
                self._words(forms.words[numbers]),
                self._chars.vectors(forms.characters(numbers)),
                self._features[features].reshape(len(numbers), -1),
            ],
            axis=1,
        )

    def _words(self, rows: NDArray[np.int64]) -> FloatArray:
        if not len(self._stored):
            return self._trained[rows]
        num_trained = len(self._trained)
        vectors = self._trained[np.minimum(rows, num_trained - 1)]
        known = rows >= num_trained
        vectors[known] = self._stored[rows[known] - num_trained]
        return vectors


class _CharEncoder(Protocol):
    def vectors(self, chars: NDArray[np.int64]) -> FloatArray:
        """Return the (forms, size) vectors of (forms, chars) character ids, 0 behind the end."""


class _CharCNN:
    """A convolution is linear in its window, so each character's share is looked up in a table."""

    def __init__(self, weights: Mapping[str, FloatArray], settings: Mapping[str, Any]):
        table = weights["char_encoder.embedding.weight"]
        width = int(settings["width"])
        kernel = weights["char_encoder.convolution.weight"].reshape(-1, table.shape[1], width)
        table = np.concatenate([np.zeros_like(table[:1]), table[1:]])
        self._shares = [np.ascontiguousarray(table @ kernel[:, :, i].T) for i in range(width)]
        self._bias = weights["char_encoder.convolution.bias"]
        self._left = (width - 1) // 2

    def vectors(self, chars: NDArray[np.int64]) -> FloatArray:
        length, width = chars.shape[1], len(self._shares)
        padded = np.pad(chars, ((0, 0), (self._left, width - 1 - self._left)))
        scores = self._shares[0][padded[:, :length]]  # (forms, chars, filters)
        for i in range(1, width):
            scores += self._shares[i][padded[:, i : i + length]]
        scores[chars == 0] = -np.inf
        best: FloatArray = scores.max(axis=1)
        best[chars[:, 0] == 0] = 0.0  # no characters, nothing to take the maximum over
        best += self._bias
        return best


class _CharLSTM:
    """The last states from both ends of a form, which is a sentence of characters."""

    def __init__(self, weights: Mapping[str, FloatArray], settings: Mapping[str, Any]):
        names = "char_encoder.forward_lstm", "char_encoder.backward_lstm"
        self._lstm = NumpyBiLSTM(weights, [names])
        self._gates = self._lstm.project(weights["char_encoder.embedding.weight"])

    def vectors(self, chars: NDArray[np.int64]) -> FloatArray:
        # A form without characters is one of a single padding character, as in training.
        lengths = np.maximum((chars != 0).sum(1), 1)
        order = np.argsort(-lengths, kind="stable")
        packing = pack(lengths[order])
        rows = chars[order][packing.rows, packing.steps]
        states = self._lstm.states(packing, [(self._gates, rows)])
        last = packing.padded[np.arange(len(order)), lengths[order] - 1]
        vectors = np.empty((len(order), 2 * states.shape[2]), dtype=np.float32)
        vectors[order] = np.concatenate([states[0][last], states[1][last]], axis=1)
        vectors *= np.float32(0.5)  # the states come doubled
        return vectors


class _NoChars:
    def __init__(self, weights: Mapping[str, FloatArray], settings: Mapping[str, Any]):
        pass

    def vectors(self, chars: NDArray[np.int64]) -> FloatArray:
        return np.zeros((len(chars), 0), dtype=np.float32)


_CHAR_ENCODERS: dict[str, Any] = {"cnn": _CharCNN, "lstm": _CharLSTM, "none": _NoChars}
"""``char_encoder.type`` -> encoder."""
