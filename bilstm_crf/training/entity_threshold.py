"""How probable an entity must be to be predicted: what gives the best F1 on dev."""

import numpy as np

from bilstm_crf.model.crf import CRF, EntityLabels
from bilstm_crf.model.tagger import TaggerNetwork
from bilstm_crf.training.corpora import HeldOut

WITHOUT_DEV = 0.5
"""The threshold where there is nothing to find it on."""

_TRIED = np.arange(2, 15) / 20  # 0.1, 0.15, ... 0.7


def best_entity_threshold(network: TaggerNetwork, dev: HeldOut) -> float:
    """Return the threshold of the best F1, and leave the network with it.

    F1 is averaged with that of the neighbouring thresholds, weighted 1 to 2 to 1: a single peak
    is luck.

    Args:
        network: its head is a CRF.
        dev: labelled sentences that it was not trained on.
    """
    if not isinstance(network.head, CRF):
        raise TypeError("a threshold needs the probabilities of a CRF")
    labels = EntityLabels.of(dev.model_labels, dev.model_scheme)
    reached = []
    for threshold in _TRIED.tolist():
        network.head.set_entity_threshold(labels, threshold)
        reached.append(dev.score(network).f1)
    padded = np.pad(np.array(reached), 1, mode="edge")
    smooth = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
    best = float(_TRIED[int(smooth.argmax())])
    network.head.set_entity_threshold(labels, best)
    return best
