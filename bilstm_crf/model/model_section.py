"""The settings of the network, and the sizes of its tables, which come from the data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import Field

from bilstm_crf.model.char_encoders import CharCNNSection, CharEncoderSection
from bilstm_crf.model.crf_settings import CRFSection
from bilstm_crf.model.form_embeddings import FormEmbeddingsSection
from bilstm_crf.model.recurrent import LSTMSection
from bilstm_crf.model.word_embeddings import WordEmbeddingsSection
from bilstm_crf.section import Section


class DropoutSection(Section):
    """Dropout, in training only."""

    kind: Literal["locked", "plain"] = "locked"
    """`locked`: the same units at every step of a sentence; `plain`: each step by itself."""

    inputs: float = Field(default=0.25, ge=0, lt=1)
    """Share of a token's vector that is zeroed before the LSTM."""

    outputs: float = Field(default=0.5, ge=0, lt=1)
    """Share of the LSTM's output that is zeroed, before the labels and between layers."""

    words: float = Field(default=0.05, ge=0, lt=1)
    """Share of distinct words of a batch that are replaced by the unknown word."""

    rare_words: float = Field(default=0.5, ge=0, le=100)
    """A word without a pretrained vector, seen n times, is replaced by the unknown word with
    probability `rare_words` / (`rare_words` + n), if that is more."""


class ModelSection(Section):
    """The network."""

    word_embeddings: WordEmbeddingsSection = WordEmbeddingsSection()
    char_encoder: CharEncoderSection = CharCNNSection()
    form_embeddings: FormEmbeddingsSection = FormEmbeddingsSection()
    column_size: int = Field(default=10, ge=1, le=1024)
    """Size of the vector of an extra column's value (see `data.features`)."""

    lstm: LSTMSection = LSTMSection()
    members: int = Field(default=1, ge=1, le=16)
    """How many such networks, embeddings included, are trained side by side under one CRF, their
    emissions averaged: more accurate, and as many times slower and larger."""

    dropout: DropoutSection = DropoutSection()
    head: Literal["crf", "softmax"] = "crf"
    """`crf` scores whole label sequences; `softmax` each token by itself, for comparison."""

    crf: CRFSection = CRFSection()

    def resolve(self, base: Path) -> "ModelSection":
        """Return the section with absolute paths, starting from ``base``."""
        return self.model_copy(update={"word_embeddings": self.word_embeddings.resolve(base)})


@dataclass(frozen=True)
class TableSizes:
    """How many rows the network's tables have; they come from the vocabularies.

    Attributes:
        trained_words: word rows that training changes, that of the unknown word included.
        stored_words: word rows known only from the vectors file.
        chars: character rows, padding and unknown included.
        labels: labels of the model's scheme.
        columns: values of each extra column, the unknown one included.
    """

    trained_words: int
    stored_words: int
    chars: int
    labels: int
    columns: Mapping[str, int] = field(default_factory=dict)
