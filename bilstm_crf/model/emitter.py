"""Below the CRF: embeddings of word forms, a BiLSTM over the sentence, emissions."""

from collections.abc import Mapping

import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor, nn

from bilstm_crf.corpus.batches import Batch
from bilstm_crf.model.column_names import column_module
from bilstm_crf.model.dropout import LockedDropout
from bilstm_crf.model.form_embeddings import FormEmbeddings
from bilstm_crf.model.layout import look_up, project, side_by_side
from bilstm_crf.model.model_section import ModelSection, TableSizes
from bilstm_crf.model.word_embeddings import WordEmbeddings


class Emitter(nn.Module):
    """All of the network below the CRF.

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
        input_size = self.vector_size + section.column_size * len(self.columns)
        self.input_dropout = _dropout(section.dropout.kind, section.dropout.inputs)
        self.lstm = section.lstm.build(input_size, section.dropout.outputs)
        self.output_dropout = _dropout(section.dropout.kind, section.dropout.outputs)
        self.projection = nn.Linear(self.lstm.output_size, sizes.labels)

    @property
    def vector_size(self) -> int:
        """Size of a word form's vector: word, characters and affixes side by side."""
        return int(
            self.word_embeddings.output_size
            + self.char_encoder.output_size
            + self.form_embeddings.output_size
        )

    def form_vectors(self, batch: Batch) -> Float[Tensor, "forms size"]:
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

    def read(
        self,
        forms: Float[Tensor, "forms size"],
        index: Int[Tensor, "batch time"],
        lengths: Int64[Tensor, " batch"],
        columns: Mapping[str, Tensor],
    ) -> Float[Tensor, "batch time states"]:
        """Return the BiLSTM's output for each token, the forward direction first.

        Args:
            forms: vectors of word forms.
            index: which of them each token is.
            lengths: tokens of each sentence.
            columns: value ids of the extra columns by name, each (batch, time).
        """
        parts = [look_up(index, forms)]
        parts += [look_up(columns[name], self.column_table(name)) for name in self.columns]
        inputs = side_by_side(parts) if self.columns else parts[0]
        states: Tensor = self.lstm(self.input_dropout(inputs), lengths)
        return states

    def score(
        self, states: Float[Tensor, "batch time states"]
    ) -> Float[Tensor, "batch time labels"]:
        """Return the score of each label for each token, in float32."""
        return project(self.projection, self.output_dropout(states)).float()


def _dropout(kind: str, probability: float) -> nn.Module:
    return LockedDropout(probability) if kind == "locked" else nn.Dropout(probability)
