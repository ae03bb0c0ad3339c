"""Sentences of similar length as tensors: what to put together, and how it is laid out."""

from dataclasses import dataclass, field, replace

import numpy as np
import torch
from jaxtyping import Bool, Int64
from numpy.typing import NDArray
from torch import Tensor

from bilstm_crf.corpus.batch_plan import plan_batches
from bilstm_crf.corpus.context import sentences_inside
from bilstm_crf.corpus.encoding import EncodedCorpus
from bilstm_crf.corpus.forms import FormTable

__all__ = ["Batch", "make_batch", "plan_batches"]


@dataclass(frozen=True)
class Batch:
    """Sequences as tensors; what belongs to a word form is held once per distinct form.

    A sequence is a sentence, or a window of several where the network reads documents.

    Attributes:
        words: word table row of each distinct form.
        chars: character ids of each distinct form, 0 where the form is shorter.
        form_features: hashed affix and shape ids of each distinct form.
        index: which distinct form each token is; 0 in the padding.
        lengths: tokens of each sequence.
        labels: label ids sentence by sentence, 0 in the padding; None at prediction.
        columns: extra columns: value ids by name, each (batch, time).
        sentences: the number of each sequence in its corpus, to put results back in order.
        places: place of each token of a sentence in the flattened (batch, time), 0 in the
            padding; None where each sequence is a sentence.
        sentence_lengths: tokens of each sentence, where there are ``places``.
    """

    words: Int64[Tensor, "forms"]
    chars: Int64[Tensor, "forms chars"]
    form_features: Int64[Tensor, "forms kinds"]
    index: Int64[Tensor, "batch time"]
    lengths: Int64[Tensor, "batch"]
    labels: Int64[Tensor, "sentences longest"] | None = None
    columns: dict[str, Tensor] = field(default_factory=dict)
    sentences: NDArray[np.int64] | None = None
    places: Int64[Tensor, "sentences longest"] | None = None
    sentence_lengths: Int64[Tensor, "sentences"] | None = None

    @property
    def mask(self) -> Bool[Tensor, "batch time"]:
        """True where a token stands."""
        steps = torch.arange(self.index.shape[1], device=self.index.device)
        return steps < self.lengths[:, None]

    @property
    def sentence_mask(self) -> Bool[Tensor, "sentences longest"]:
        """True where a token of a sentence stands."""
        if self.places is None or self.sentence_lengths is None:
            return self.mask
        steps = torch.arange(self.places.shape[1], device=self.places.device)
        return steps < self.sentence_lengths[:, None]

    @property
    def num_tokens(self) -> int:
        return int(self.lengths.sum())

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on another device."""
        if self.words.device == device:
            return self

        def move(tensor: Tensor) -> Tensor:
            return tensor.to(device, non_blocking=True)

        return replace(
            self,
            words=move(self.words),
            chars=move(self.chars),
            form_features=move(self.form_features),
            index=move(self.index),
            lengths=move(self.lengths),
            labels=None if self.labels is None else move(self.labels),
            columns={name: move(values) for name, values in self.columns.items()},
            places=None if self.places is None else move(self.places),
            sentence_lengths=None if self.sentence_lengths is None else move(self.sentence_lengths),
        )


def make_batch(
    corpus: EncodedCorpus,
    forms: FormTable,
    sentences: NDArray[np.int64],
    *,
    with_labels: bool = True,
) -> Batch:
    """Gather some sequences of a corpus into one padded batch.

    Args:
        corpus: its ``form_ids`` must be those of ``forms``.
        forms: what each form id looks like to the model.
        sentences: which sequences, by number: sentences, or windows of them.
        with_labels: whether to carry the labels.
    """
    starts = corpus.sequence_starts[sentences]
    lengths = corpus.sequence_starts[sentences + 1] - starts
    inside, positions = _positions(starts, lengths)
    distinct, inverse = np.unique(corpus.form_ids[positions], return_inverse=True)
    places = sentence_lengths = None
    of_labels = inside, positions
    if corpus.windows is not None:
        numbers, rows, offsets = sentences_inside(corpus.starts, starts, starts + lengths)
        sentence_lengths = corpus.lengths[numbers]
        of_labels = _positions(corpus.starts[numbers], sentence_lengths)
        of_rows = _positions(rows * inside.shape[1] + offsets, sentence_lengths)
        places = _padded(*of_rows)
    labels = corpus.label_ids if with_labels else None
    return Batch(
        words=torch.from_numpy(forms.words[distinct]),
        chars=torch.from_numpy(forms.characters(distinct)),
        form_features=torch.from_numpy(forms.features[distinct]),
        index=_padded(inside, inverse),
        lengths=torch.from_numpy(lengths),
        labels=None if labels is None else _padded(of_labels[0], labels[of_labels[1]]),
        columns={
            name: _padded(inside, ids[positions]) for name, (_, ids) in corpus.features.items()
        },
        sentences=sentences,
        places=places,
        sentence_lengths=None if sentence_lengths is None else torch.from_numpy(sentence_lengths),
    )


def _positions(
    starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return where tokens stand in a table (rows, time), and the position of each of them."""
    steps = np.arange(lengths.max(initial=0))
    inside = steps < lengths[:, None]
    return inside, (starts[:, None] + steps)[inside]


def _padded(inside: NDArray[np.bool_], values: NDArray[np.integer]) -> Tensor:
    table = np.zeros(inside.shape, dtype=np.int64)
    table[inside] = values
    return torch.from_numpy(table)
