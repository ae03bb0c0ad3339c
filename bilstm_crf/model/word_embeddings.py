"""The word table: rows tuned in training, and rows known only from a vectors file."""

from pathlib import Path
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int64
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from bilstm_crf.corpus.vocabulary import UNKNOWN
from bilstm_crf.section import Section


class WordEmbeddingsSection(Section):
    """Word embeddings."""

    size: int = Field(default=100, ge=0, le=4096)
    """Size of a word's vector; with `vectors` it must be theirs. 0 leaves words out."""

    vectors: str | list[str] | None = None
    """Pretrained vectors, text (`word v1 v2 ...`, plain or .gz) or word2vec/fastText .bin; with
    several files their vectors are put side by side, and `size` is the sum."""

    trainable: bool = True
    """Whether training tunes the rows of the training words."""

    store: Literal["all", "corpus", "train"] = "all"
    """Which words of the vectors file the model keeps in float16 beside those it trained: `all`
    (best on new text; 2 bytes x size x words, 80 MB for 400,000 words of size 100), `corpus`
    (those in train, dev and test) or `train` (no others)."""

    min_count: int = Field(default=1, ge=1)
    """Training words seen less often, and without a pretrained vector, count as unknown."""

    def resolve(self, base: Path) -> "WordEmbeddingsSection":
        """Return the section with absolute paths, starting from ``base``."""
        if self.vectors is None:
            return self
        if isinstance(self.vectors, str):
            return self.model_copy(update={"vectors": str((base / self.vectors).resolve())})
        paths = [str((base / path).resolve()) for path in self.vectors]
        return self.model_copy(update={"vectors": paths})

    @property
    def vector_paths(self) -> list[Path]:
        """The vectors files, none, one or several."""
        if self.vectors is None:
            return []
        return [
            Path(p) for p in ([self.vectors] if isinstance(self.vectors, str) else self.vectors)
        ]


class WordEmbeddings(nn.Module):
    """Look word rows up; rows past the trained ones are constants held in float16.

    Args:
        num_trained: rows that training changes, that of the unknown word included.
        num_stored: rows known only from the vectors file; they follow the trained ones.
        size: length of a vector.
        dropout: share of distinct words of a batch that training replaces by the unknown word, so
            that its row learns what an unknown word means in context; see also :meth:`drop_rare`.
        trainable: whether the trained rows are tuned at all.
    """

    stored: Tensor
    dropout: Tensor

    def __init__(
        self,
        num_trained: int,
        num_stored: int,
        size: int,
        *,
        dropout: float = 0.0,
        trainable: bool = True,
    ):
        super().__init__()
        self.num_trained, self.output_size = num_trained, size
        # Uniform of variance 1/size, as in Ma and Hovy 2016, section 3.1.
        bound = (3.0 / max(size, 1)) ** 0.5
        self.weight = nn.Parameter(torch.empty(num_trained, size).uniform_(-bound, bound))
        self.weight.requires_grad_(trainable)
        self.register_buffer("stored", torch.zeros(num_stored, size, dtype=torch.float16))
        self.register_buffer("dropout", torch.full((num_trained,), dropout), persistent=False)

    @property
    def sparse_weight(self) -> nn.Parameter | None:
        """The table whose gradient holds only the rows of the batch, if it has any."""
        return self.weight if self.weight.requires_grad and self.weight.numel() else None

    def share_stored(self, other: "WordEmbeddings") -> None:
        """Look words known only from vectors up in another table's rows, saved with it alone."""
        del self.stored
        self.register_buffer("stored", other.stored, persistent=False)

    def load_pretrained(self, rows: NDArray[np.int64], vectors: NDArray[np.float32]) -> None:
        """Set some rows, trained or stored, to given vectors.

        Args:
            rows: (n,) row numbers.
            vectors: (n, size) their values.
        """
        trained = rows < self.num_trained
        with torch.no_grad():
            self.weight[torch.from_numpy(rows[trained])] = torch.from_numpy(vectors[trained])
            stored = torch.from_numpy(vectors[~trained]).to(self.stored.dtype)
            self.stored[torch.from_numpy(rows[~trained] - self.num_trained)] = stored

    def drop_rare(self, counts: NDArray[np.int64], rate: float) -> None:
        """Let training replace a word seen n times with probability rate / (rate + n) or more.

        Kiperwasser and Goldberg 2016, "Simple and Accurate Dependency Parsing Using Bidirectional
        LSTM Feature Representations", section 5, https://arxiv.org/abs/1603.04351. What such words
        mean has to come from their characters and from the context, as it will on new text.

        Args:
            counts: (trained rows,) how often each was seen; 0 leaves a row's rate as it is.
            rate: 0 for no difference.
        """
        seen = torch.from_numpy(counts)
        rare = torch.where(seen > 0, rate / (rate + seen.clamp(min=1)), 0.0)
        self.dropout = torch.maximum(self.dropout, rare.to(self.dropout))

    def forward(self, words: Int64[Tensor, "forms"]) -> Float[Tensor, "forms size"]:
        """Return the vectors of distinct word forms; in training all must be trained rows."""
        if self.training:
            dropped = torch.rand(words.shape, device=words.device) < self.dropout[words]
            words = words.masked_fill(dropped, UNKNOWN)
            return F.embedding(words, self.weight, sparse=self.sparse_weight is not None)
        if self.stored.shape[0] == 0:
            return F.embedding(words, self.weight)
        tuned = F.embedding(words.clamp(max=self.num_trained - 1), self.weight)
        known = F.embedding((words - self.num_trained).clamp(min=0), self.stored)
        return torch.where((words < self.num_trained)[:, None], tuned, known.to(tuned.dtype))
