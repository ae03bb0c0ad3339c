"""Label paths for a whole corpus: batches of similar length, results in the order of the corpus."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.corpus.encoding import EncodedCorpus
from bilstm_crf.corpus.forms import FormTable
from bilstm_crf.model.flat_sentences import FlatSentences
from bilstm_crf.model.inference import InferenceNetwork
from bilstm_crf.model.tagger import TaggerNetwork

WINDOW_TOKENS = 100_000
"""Tokens whose word forms are encoded, and whose sentences are sorted by length, together."""


def decode_corpus(
    network: TaggerNetwork, corpus: EncodedCorpus, forms: FormTable
) -> list[NDArray[np.int64]]:
    """Return the best label ids of each sentence of a corpus, in its order.

    Args:
        network: any mode; it is left as it was.
        corpus: its form ids must be those of ``forms``.
        forms: what each form looks like.
    """
    was_training = network.training
    network.eval()
    inference = InferenceNetwork(network)
    paths: list[NDArray[np.int64]] = []
    sequences = corpus.sequence_starts
    for first_read, last_read in _stretches(sequences):
        begin, end = sequences[first_read], sequences[last_read]
        first, last = corpus.first_sentence(first_read), corpus.first_sentence(last_read)
        distinct, rows = np.unique(corpus.form_ids[begin:end], return_inverse=True)
        sentences = FlatSentences(
            rows=rows,
            starts=corpus.starts[first : last + 1] - begin,
            columns={name: ids[begin:end] for name, (_, ids) in corpus.features.items()},
            windows=None
            if corpus.windows is None
            else sequences[first_read : last_read + 1] - begin,
        )
        labels = inference.label_ids(inference.form_inputs(forms, distinct), sentences)
        paths.extend(np.split(labels, sentences.starts[1:-1]))
    network.train(was_training)
    return paths


def _stretches(starts: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Cut what is read at once into stretches of about ``WINDOW_TOKENS``, given by numbers."""
    first = 0
    while first < len(starts) - 1:
        last = int(np.searchsorted(starts, starts[first] + WINDOW_TOKENS, side="right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last
