"""Embeddings of what a word form looks like: hashed prefixes, suffixes and shape.

They let a tagger without pretrained vectors generalise from endings and capitals.
"""

import torch
from jaxtyping import Float, Int64
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from bilstm_crf.corpus.forms import FEATURE_KINDS, FEATURE_ROWS
from bilstm_crf.section import Section


class FormEmbeddingsSection(Section):
    """Hashed embeddings of prefixes and suffixes (1 to 3 characters) and word shape."""

    size: int = Field(default=0, ge=0, le=1024)
    """Size of each view's vector (there are 7 views); 0 leaves them out."""


class FormEmbeddings(nn.Module):
    """One small hashed table for each view of a form; the vectors are put side by side.

    Args:
        size: size of each view's vector; 0 gives vectors of size 0.
    """

    def __init__(self, size: int):
        super().__init__()
        self.output_size = size * len(FEATURE_KINDS)
        self.weight = nn.Parameter(
            torch.empty(FEATURE_ROWS * len(FEATURE_KINDS), size).normal_(0, 0.1)
        )
        self.register_buffer(
            "first_rows", torch.arange(len(FEATURE_KINDS)) * FEATURE_ROWS, persistent=False
        )

    first_rows: Tensor

    @property
    def sparse_weight(self) -> nn.Parameter | None:
        """The table whose gradient holds only the rows of the batch, if it has any."""
        return self.weight if self.weight.requires_grad and self.weight.numel() else None

    def forward(self, features: Int64[Tensor, "forms kinds"]) -> Float[Tensor, "forms size"]:
        if not self.output_size:  # of the shape, not its length: the exporter fixes that
            return self.weight.new_zeros(features.shape[0], 0)
        rows = features + self.first_rows
        return F.embedding(rows, self.weight, sparse=self.sparse_weight is not None).flatten(1)
