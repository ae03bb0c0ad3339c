"""Character encoders: from the characters of a word form to one vector."""

from typing import Annotated, Literal

import torch
from jaxtyping import Float, Int64
from pydantic import Field, Tag
from torch import Tensor, nn
from torch.nn import functional as F

from bilstm_crf.model.char_windows import lay_out_windows, pooled_window_sums
from bilstm_crf.model.recurrent import reverse_within_length
from bilstm_crf.section import Section, chosen_by_type


class CharCNNSection(Section):
    """Convolution over the characters and the maximum over positions (Ma and Hovy 2016)."""

    type: Literal["cnn"] = "cnn"
    size: int = Field(default=30, ge=1, le=1024)
    """Size of a character's vector."""

    filters: int = Field(default=50, ge=1, le=4096)
    """Filters, and so the size of a word's character vector."""

    width: int = Field(default=3, ge=1, le=15)
    """Characters that a filter sees at once."""

    longest: int = Field(default=40, ge=4, le=1000)
    """Longest form encoded whole; of a longer one the head and the tail are seen."""

    def build(self, num_chars: int) -> "CharCNN":
        return CharCNN(num_chars, self.size, self.filters, self.width)


class CharLSTMSection(Section):
    """A BiLSTM over the characters, its last states from both ends (Lample et al. 2016)."""

    type: Literal["lstm"] = "lstm"
    size: int = Field(default=30, ge=1, le=1024)
    """Size of a character's vector."""

    hidden_size: int = Field(default=25, ge=1, le=1024)
    """LSTM units per direction; a word's character vector has twice that."""

    longest: int = Field(default=40, ge=4, le=1000)
    """Longest form encoded whole; of a longer one the head and the tail are seen."""

    def build(self, num_chars: int) -> "CharLSTM":
        return CharLSTM(num_chars, self.size, self.hidden_size)


class NoCharsSection(Section):
    """No character encoder."""

    type: Literal["none"] = "none"
    longest: int = Field(default=40, ge=4, le=1000)
    """Longest form whose affixes and shape are seen whole."""

    def build(self, num_chars: int) -> "NoChars":
        return NoChars()


CharEncoderSection = Annotated[
    Annotated[CharCNNSection, Tag("cnn")]
    | Annotated[CharLSTMSection, Tag("lstm")]
    | Annotated[NoCharsSection, Tag("none")],
    *chosen_by_type("cnn"),
]


class CharCNN(nn.Module):
    """Max-pooled convolution over characters.

    Ma and Hovy 2016, "End-to-end Sequence Labeling via Bi-directional LSTM-CNNs-CRF", section
    2.1, https://arxiv.org/abs/1603.01354.

    Args:
        num_chars: rows of the character table; row 0 is padding and stays zero.
        size: size of a character's vector.
        filters: number of filters.
        width: characters a filter sees.
    """

    def __init__(self, num_chars: int, size: int, filters: int, width: int):
        super().__init__()
        self.output_size, self.size, self.width = filters, size, width
        self.embedding = nn.Embedding(num_chars, size, padding_idx=0)
        bound = (3.0 / size) ** 0.5
        with torch.no_grad():
            self.embedding.weight.uniform_(-bound, bound)
            self.embedding.weight[0] = 0
        self.convolution = nn.Linear(size * width, filters)

    def forward(self, chars: Int64[Tensor, "forms chars"]) -> Float[Tensor, "forms filters"]:
        if chars.device.type == "cpu" and not torch.compiler.is_compiling():
            with torch.autocast("cpu", enabled=False):  # these few products are not worth a cast
                return self._sum_and_pool(chars)
        return self._convolve_and_pool(chars)

    def _convolve_and_pool(
        self, chars: Int64[Tensor, "forms chars"]
    ) -> Float[Tensor, "forms filters"]:
        """Convolve the padded forms: for GPUs, and for export."""
        left = (self.width - 1) // 2
        vectors = self.embedding(F.pad(chars, (left, self.width - 1 - left)))
        windows = vectors.unfold(1, self.width, 1)  # (forms, chars, size, width)
        scores = self.convolution(windows.flatten(2))  # (forms, chars, filters)
        best = scores.masked_fill((chars == 0)[:, :, None], float("-inf")).amax(1)
        # A form without characters has no position to take the maximum over.
        return torch.where(chars[:, :1] == 0, self.convolution.bias, best)

    def _sum_and_pool(self, chars: Int64[Tensor, "forms chars"]) -> Float[Tensor, "forms filters"]:
        """Do the same by looking up what each character adds at each place of a window.

        A convolution is linear in its window. So one product of the character table and the
        filters replaces those of all windows, and the bias can wait until after the maximum.
        """
        windows = lay_out_windows(chars, self.width)
        rows = windows.chars
        # Row 0 stays zero, whatever gradient reaches it.
        table = F.pad(self.embedding.weight[1:], (0, 0, 1, 0))
        if len(table) > len(rows):  # a large alphabet, of which few characters occur here
            used, rows = torch.unique(rows, return_inverse=True)
            table = F.embedding(used, table)
        kernel = self.convolution.weight.view(-1, self.size, self.width)
        added = table @ kernel.permute(1, 2, 0).flatten(1)  # (chars, width * filters)
        added = added.view(len(table), self.width, self.output_size)
        best = pooled_window_sums(added, rows, windows)
        return best + self.convolution.bias


class CharLSTM(nn.Module):
    """Last states of a forward and a backward LSTM over the characters.

    Lample et al. 2016, "Neural Architectures for Named Entity Recognition", section 4.1,
    https://arxiv.org/abs/1603.01360.

    Args:
        num_chars: rows of the character table; row 0 is padding and stays zero.
        size: size of a character's vector.
        hidden_size: LSTM units per direction.
    """

    def __init__(self, num_chars: int, size: int, hidden_size: int):
        super().__init__()
        self.output_size = 2 * hidden_size
        self.embedding = nn.Embedding(num_chars, size, padding_idx=0)
        self.forward_lstm = nn.LSTM(size, hidden_size, batch_first=True)
        self.backward_lstm = nn.LSTM(size, hidden_size, batch_first=True)

    def forward(self, chars: Int64[Tensor, "forms chars"]) -> Float[Tensor, "forms size"]:
        lengths = (chars != 0).sum(1)
        # In memory by position, as the LSTMs want it.
        vectors = self.embedding(chars.t()).transpose(0, 1)  # (forms, chars, size)
        rows = torch.arange(chars.shape[0], device=chars.device)
        last = (lengths - 1).clamp(min=0)
        forward = self.forward_lstm(vectors)[0][rows, last]
        backward = self.backward_lstm(reverse_within_length(vectors, lengths))[0][rows, last]
        return torch.cat([forward, backward], dim=1)


class NoChars(nn.Module):
    """A character encoder that sees nothing: vectors of size 0."""

    output_size = 0

    def forward(self, chars: Int64[Tensor, "forms chars"]) -> Float[Tensor, "forms 0"]:
        return torch.zeros(chars.shape[0], 0, device=chars.device)
