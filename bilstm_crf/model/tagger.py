"""The network: embeddings of word forms, a BiLSTM over the sentence, emissions, and the CRF."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import torch
from jaxtyping import Float, Int, Int64
from pydantic import Field
from torch import Tensor, nn

from bilstm_crf.corpus.batches import Batch
from bilstm_crf.model.char_encoders import CharCNNSection, CharEncoderSection
from bilstm_crf.model.column_names import column_module
from bilstm_crf.model.crf import CRF, CRFSection
from bilstm_crf.model.dropout import LockedDropout
from bilstm_crf.model.form_embeddings import FormEmbeddings, FormEmbeddingsSection
from bilstm_crf.model.layout import look_up, project, side_by_side
from bilstm_crf.model.recurrent import LSTMSection
from bilstm_crf.model.softmax_head import SoftmaxHead
from bilstm_crf.model.word_embeddings import WordEmbeddings, WordEmbeddingsSection
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


class TaggerNetwork(nn.Module):
    """From a batch to emissions, and from there to a loss or to label paths.

    Args:
        section: the settings of all parts.
        sizes: rows of the tables.
    """

    def __init__(self, section: ModelSection, sizes: TableSizes):
        super().__init__()
        words = section.word_embeddings
        self.word_embeddings = WordEmbeddings(
            sizes.trained_words,
            sizes.stored_words,
            words.size,
            dropout=section.dropout.words,
            trainable=words.trainable,
        )
        self.char_encoder = section.char_encoder.build(sizes.chars)
        self.form_embeddings = FormEmbeddings(section.form_embeddings.size)
        self.column_embeddings = nn.ModuleDict(
            {
                column_module(name): nn.Embedding(rows, section.column_size)
                for name, rows in sizes.columns.items()
            }
        )
        self.columns = tuple(sizes.columns)
        input_size = self.form_size + section.column_size * len(self.columns)
        self.input_dropout = _dropout(section.dropout.kind, section.dropout.inputs)
        self.lstm = section.lstm.build(input_size, section.dropout.outputs)
        self.output_dropout = _dropout(section.dropout.kind, section.dropout.outputs)
        self.projection = nn.Linear(self.lstm.output_size, sizes.labels)
        self.head: CRF | SoftmaxHead = CRF(sizes.labels) if section.head == "crf" else SoftmaxHead()

    @property
    def form_size(self) -> int:
        """Size of a word form's vector: word, characters and affixes side by side."""
        return int(
            self.word_embeddings.output_size
            + self.char_encoder.output_size
            + self.form_embeddings.output_size
        )

    def encode_forms(self, batch: Batch) -> Float[Tensor, "forms size"]:
        """Return one vector for each distinct word form; it does not depend on the sentence."""
        return torch.cat(
            [
                self.word_embeddings(batch.words),
                self.char_encoder(batch.chars),
                self.form_embeddings(batch.form_features),
            ],
            dim=1,
        )

    def column_table(self, name: str) -> Float[Tensor, "values size"]:
        """Return the vectors of an extra column's values."""
        table: Tensor = self.column_embeddings[column_module(name)].get_parameter("weight")
        return table

    def hidden_states(self, batch: Batch) -> Float[Tensor, "batch time size"]:
        """Return the BiLSTM's output for each token, the forward direction first."""
        forms = self.encode_forms(batch)
        return self._hidden_states(forms, batch.index, batch.lengths, batch.columns)

    def emissions(self, batch: Batch) -> Float[Tensor, "batch time labels"]:
        """Return the score of each label for each token, in float32."""
        return self._score(self.hidden_states(batch))

    def token_emissions(
        self,
        forms: Float[Tensor, "forms size"],
        index: Int[Tensor, "batch time"],
        lengths: Int64[Tensor, " batch"],
        columns: Mapping[str, Tensor],
    ) -> Float[Tensor, "batch time labels"]:
        """Return the score of each label for each token, in float32.

        Args:
            forms: vectors of word forms.
            index: which of them each token is.
            lengths: tokens of each sentence.
            columns: value ids of the extra columns by name, each (batch, time).
        """
        return self._score(self._hidden_states(forms, index, lengths, columns))

    def _hidden_states(
        self, forms: Tensor, index: Tensor, lengths: Tensor, columns: Mapping[str, Tensor]
    ) -> Tensor:
        parts = [look_up(index, forms)]
        parts += [look_up(columns[name], self.column_table(name)) for name in self.columns]
        inputs = side_by_side(parts) if self.columns else parts[0]
        states: Tensor = self.lstm(self.input_dropout(inputs), lengths)
        return states

    def _score(self, states: Tensor) -> Tensor:
        return project(self.projection, self.output_dropout(states)).float()

    def loss(
        self, batch: Batch, states: Float[Tensor, "batch time size"] | None = None
    ) -> Float[Tensor, "sentences"]:
        """Return each sentence's loss: minus the log likelihood of its labels, and the CRF's costs.

        The CRF scores each sentence by itself, also where the BiLSTM has read several at once.

        Args:
            batch: sentences with labels.
            states: their :meth:`hidden_states`, where the caller has them.

        Raises:
            ValueError: the batch carries no labels.
        """
        if batch.labels is None:
            raise ValueError("a loss needs a batch with labels")
        states = self.hidden_states(batch) if states is None else states
        scores = self._score(states)
        if batch.places is not None:
            scores = look_up(batch.places, scores.flatten(0, 1))
        return self.head.loss(scores, batch.labels, batch.sentence_mask)

    def decode(self, batch: Batch) -> Int64[Tensor, "batch time"]:
        """Return the labels of each sentence, 0 in the padding."""
        return self.head.decode(self.emissions(batch), batch.mask)


def _dropout(kind: str, probability: float) -> nn.Module:
    return LockedDropout(probability) if kind == "locked" else nn.Dropout(probability)
