"""The head of a trained network in numpy: labels to predict, and distributions to ask."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.corpus.labels import OUTSIDE, allowed_transitions
from bilstm_crf.model.crf_entities import EntityLabels, probable_entities
from bilstm_crf.model.numpy_lstm import FloatArray
from bilstm_crf.model.numpy_posterior import PackedDistribution, path_distribution, softmax
from bilstm_crf.model.numpy_viterbi import NumpyViterbi, TransitionArrays
from bilstm_crf.model.packing import Packing

IntArray = NDArray[np.int64]


class NumpyHead:
    """A CRF, or independent labels. Any number of threads may use it at once.

    Args:
        weights: by name, as in the model file.
        settings: the section ``model`` of the configuration.
        labels: the labels of the model, by id.
        scheme: their scheme.
    """

    def __init__(
        self,
        weights: Mapping[str, NDArray[Any]],
        settings: Mapping[str, Any],
        labels: Sequence[str],
        scheme: str,
    ):
        crf = settings["crf"]
        self._transitions: TransitionArrays | None = None
        self._entities: tuple[EntityLabels, float] | None = None
        self._bias: FloatArray | None = None
        if settings["head"] != "crf":
            return
        self._transitions = _transitions(weights, crf["constraints"], labels, scheme)
        self._viterbi = NumpyViterbi(self._transitions)
        if crf["outside_bias"]:
            self._bias = np.zeros(len(labels), dtype=np.float32)
            self._bias[labels.index(OUTSIDE)] = crf["outside_bias"]
        threshold = crf.get("entity_threshold", "auto")
        if crf.get("decoding", "viterbi") == "expected_f1" and threshold != "auto":
            self._entities = EntityLabels.of(labels, scheme), threshold

    def decode(self, scores: FloatArray, packing: Packing) -> IntArray:
        """Return the label id to predict for each slot.

        Args:
            scores: (slots, labels) emissions.
            packing: the batch. What slots that are too many get has no meaning.
        """
        if self._transitions is None:
            best: IntArray = scores.argmax(axis=1)
            return best
        if self._bias is not None:
            scores = scores + self._bias
        if self._entities is None:
            sizes, firsts = packing.mask.sum(0), packing.padded[0]
            return self._viterbi.paths(np.ascontiguousarray(scores.T), sizes, firsts)
        distribution = path_distribution(scores, packing, self._transitions)
        paths = probable_entities(distribution.states(), distribution.following, *self._entities)
        labels = np.zeros(packing.num_slots, dtype=np.int64)
        labels[packing.slots_by_sentence] = paths[packing.mask]
        return labels

    def distribution(
        self, scores: FloatArray, packing: Packing, temperature: float
    ) -> PackedDistribution:
        """Return the distribution over label paths.

        Args:
            scores: (slots, labels) emissions.
            packing: the batch.
            temperature: all scores are divided by it.
        """
        if self._transitions is None:
            return softmax(scores, packing, temperature)
        return path_distribution(scores, packing, self._transitions, temperature)


def _transitions(
    weights: Mapping[str, NDArray[Any]], constraints: str, labels: Sequence[str], scheme: str
) -> TransitionArrays:
    start, pairs, end = (
        weights[f"head.{name}"].astype(np.float32, copy=False)
        for name in ("start_transitions", "transitions", "end_transitions")
    )
    if constraints == "none":
        return TransitionArrays(start, pairs, end)
    allowed = allowed_transitions(labels, scheme)
    never = np.float32(-np.inf)
    return TransitionArrays(
        start=np.where(allowed.start, start, never),
        pairs=np.where(allowed.pairs, pairs, never),
        end=np.where(allowed.end, end, never),
    )
