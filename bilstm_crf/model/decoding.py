"""Label paths for a whole corpus: batches of similar length, results in the order of the corpus."""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from bilstm_crf.corpus.batches import Batch, make_batch, plan_batches
from bilstm_crf.corpus.encoding import EncodedCorpus
from bilstm_crf.corpus.forms import FormTable
from bilstm_crf.model.tagger import TaggerNetwork

BATCH_SENTENCES = 256
BATCH_TOKENS = 16_384
"""Limits of a batch in prediction, padding included; memory is what they bound."""


def prediction_batches(corpus: EncodedCorpus, forms: FormTable) -> Iterator[Batch]:
    """Yield a corpus in batches without labels, longest sentences first."""
    plan = plan_batches(corpus.lengths, batch_size=BATCH_SENTENCES, batch_tokens=BATCH_TOKENS)
    for sentences in plan:
        yield make_batch(corpus, forms, sentences, with_labels=False)


def decode_corpus(
    network: TaggerNetwork, corpus: EncodedCorpus, forms: FormTable
) -> list[NDArray[np.int64]]:
    """Return the best label ids of each sentence of a corpus, in its order.

    Args:
        network: any mode; it is left as it was.
        corpus: its form ids must be those of ``forms``.
        forms: what each form looks like.
    """
    device = next(network.parameters()).device
    paths: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)] * len(corpus)
    was_training = network.training
    network.eval()
    with torch.inference_mode():
        for batch in prediction_batches(corpus, forms):
            rows = network.decode(batch.to(device)).cpu().numpy()
            sentences = batch.sentences if batch.sentences is not None else range(len(rows))
            lengths = batch.lengths.tolist()
            for sentence, row, length in zip(sentences, rows, lengths, strict=True):
                paths[sentence] = row[:length]
    network.train(was_training)
    return paths
