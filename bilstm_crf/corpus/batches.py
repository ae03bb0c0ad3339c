"""Sentences of similar length as tensors: what to put together, and how it is laid out."""

from dataclasses import dataclass, field, replace

import numpy as np
import torch
from jaxtyping import Bool, Int64
from numpy.typing import NDArray
from torch import Tensor

from bilstm_crf.corpus.batch_plan import plan_batches
from bilstm_crf.corpus.encoding import EncodedCorpus
from bilstm_crf.corpus.forms import FormTable

__all__ = ["Batch", "make_batch", "plan_batches"]


@dataclass(frozen=True)
class Batch:
    """Sentences as tensors; what belongs to a word form is held once per distinct form.

    Attributes:
        words: word table row of each distinct form.
        chars: character ids of each distinct form, 0 where the form is shorter.
        form_features: hashed affix and shape ids of each distinct form.
        index: which distinct form each token is; 0 in the padding.
        lengths: tokens of each sentence.
        labels: label ids, 0 in the padding; None at prediction.
        columns: extra columns: value ids by name, each (batch, time).
        sentences: the number of each sentence in its corpus, to put results back in order.
    """

    words: Int64[Tensor, "forms"]
    chars: Int64[Tensor, "forms chars"]
    form_features: Int64[Tensor, "forms kinds"]
    index: Int64[Tensor, "batch time"]
    lengths: Int64[Tensor, "batch"]
    labels: Int64[Tensor, "batch time"] | None = None
    columns: dict[str, Tensor] = field(default_factory=dict)
    sentences: NDArray[np.int64] | None = None

    @property
    def mask(self) -> Bool[Tensor, "batch time"]:
        """True where a token stands."""
        steps = torch.arange(self.index.shape[1], device=self.index.device)
        return steps < self.lengths[:, None]

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
        )


def make_batch(
    corpus: EncodedCorpus,
    forms: FormTable,
    sentences: NDArray[np.int64],
    *,
    with_labels: bool = True,
) -> Batch:
    """Gather some sentences of a corpus into one padded batch.

    Args:
        corpus: its ``form_ids`` must be those of ``forms``.
        forms: what each form id looks like to the model.
        sentences: which sentences, by number.
        with_labels: whether to carry the labels.
    """
    starts = corpus.starts[sentences]
    lengths = corpus.starts[sentences + 1] - starts
    steps = np.arange(lengths.max(initial=0))
    inside = steps < lengths[:, None]  # (batch, time)
    positions = (starts[:, None] + steps)[inside]
    distinct, inverse = np.unique(corpus.form_ids[positions], return_inverse=True)

    def padded(values: NDArray[np.integer]) -> Tensor:
        table = np.zeros(inside.shape, dtype=np.int64)
        table[inside] = values
        return torch.from_numpy(table)

    labels = corpus.label_ids if with_labels else None
    return Batch(
        words=torch.from_numpy(forms.words[distinct]),
        chars=torch.from_numpy(forms.characters(distinct)),
        form_features=torch.from_numpy(forms.features[distinct]),
        index=padded(inverse),
        lengths=torch.from_numpy(lengths),
        labels=None if labels is None else padded(labels[positions]),
        columns={name: padded(ids[positions]) for name, (_, ids) in corpus.features.items()},
        sentences=sentences,
    )
