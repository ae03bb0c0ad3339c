"""The training step of NCRF++ as its publication and program describe it, in other words.

Yang and Zhang 2018, "NCRF++: An Open-source Neural Sequence Labeling Toolkit". The program is in
no package registry, so this stands in for it. What decides its speed is kept: every token of the
batch has its characters convolved, padded to the longest word; sentences are packed for a two-way
LSTM; the CRF is a loop over the sentence with a (batch, labels, labels) tensor at each step; each
training batch is decoded as well, for the accuracy that the program prints; every weight is
updated at every step, the whole word table among them. Settings are the program's defaults but
for the sizes.
"""

import random

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

CHAR_SIZE, FILTERS, DROPOUT, RATE, WEIGHT_DECAY = 30, 50, 0.5, 0.015, 1e-8
UNREACHABLE = -10000.0


class NcrfLike:
    """Trains on sentences in memory.

    Args:
        sentences: tokens and labels.
        word_size: size of a word's vector.
        hidden: LSTM units per direction.
        batch: sentences of a batch.
    """

    def __init__(
        self, sentences: list[tuple[list[str], list[str]]], word_size: int, hidden: int, batch: int
    ):
        words = {"": 0}
        chars = {"": 0}
        labels = {"": 0}
        self.instances = [
            (
                [words.setdefault(t, len(words)) for t in tokens],
                [[chars.setdefault(c, len(chars)) for c in t] for t in tokens],
                [labels.setdefault(n, len(labels)) for n in names],
            )
            for tokens, names in sentences
        ]
        self.model = _Tagger(len(words), len(chars), len(labels), word_size, hidden)
        self.optimizer = torch.optim.SGD(
            self.model.parameters(), lr=RATE, weight_decay=WEIGHT_DECAY
        )
        self.batch = batch

    def epoch(self) -> float:
        self.model.train()
        random.shuffle(self.instances)
        total = 0.0
        right = 0
        for start in range(0, len(self.instances), self.batch):
            chosen = self.instances[start : start + self.batch]
            words, lengths, chars, labels, mask = _padded(chosen)
            emissions = self.model(words, lengths, chars)
            loss = self.model.crf.loss(emissions, labels, mask) / len(chosen)
            paths = self.model.crf.decode(emissions.detach(), mask)
            right += int(((paths == labels) & mask).sum())
            total += loss.item()
            loss.backward()
            self.optimizer.step()
            self.model.zero_grad()
        return total / (len(self.instances) / self.batch)


def _padded(
    chosen: list[tuple[list[int], list[list[int]], list[int]]],
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Return words, lengths, characters (batch, time, chars), labels and mask, longest first."""
    chosen = sorted(chosen, key=lambda instance: -len(instance[0]))
    lengths = torch.tensor([len(words) for words, _, _ in chosen])
    words = pad_sequence([torch.tensor(w) for w, _, _ in chosen], batch_first=True)
    labels = pad_sequence([torch.tensor(n) for _, _, n in chosen], batch_first=True)
    longest = max(len(word) for _, sentence, _ in chosen for word in sentence)
    chars = torch.zeros(*words.shape, longest, dtype=torch.int64)
    for row, (_, sentence, _) in enumerate(chosen):
        for column, word in enumerate(sentence):
            chars[row, column, : len(word)] = torch.tensor(word)
    return words, lengths, chars, labels, torch.arange(words.shape[1]) < lengths[:, None]


class _Tagger(nn.Module):
    def __init__(self, words: int, chars: int, labels: int, word_size: int, hidden: int):
        super().__init__()
        self.words, self.chars = nn.Embedding(words, word_size), nn.Embedding(chars, CHAR_SIZE)
        self.convolution = nn.Conv1d(CHAR_SIZE, FILTERS, 3, padding=1)
        self.lstm = nn.LSTM(word_size + FILTERS, hidden, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(DROPOUT)
        self.projection = nn.Linear(2 * hidden, labels + 2)
        self.crf = _Crf(labels + 2)

    def forward(self, words: Tensor, lengths: Tensor, chars: Tensor) -> Tensor:
        batch, time, longest = chars.shape
        vectors = self.dropout(self.chars(chars.view(batch * time, longest)))
        scores = self.convolution(vectors.transpose(1, 2))
        forms = F.max_pool1d(scores, longest).view(batch, time, FILTERS)
        inputs = self.dropout(torch.cat([self.words(words), forms], dim=2))
        packed, _ = self.lstm(pack_padded_sequence(inputs, lengths, batch_first=True))
        states, _ = pad_packed_sequence(packed, batch_first=True)
        return self.projection(self.dropout(states))


class _Crf(nn.Module):
    """A CRF whose last two labels are the sentence's start and end."""

    def __init__(self, labels: int):
        super().__init__()
        self.start, self.end = labels - 2, labels - 1
        scores = torch.zeros(labels, labels)
        scores[:, self.start] = scores[self.end] = UNREACHABLE
        self.transitions = nn.Parameter(scores)

    def loss(self, emissions: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
        return self._log_partition(emissions, mask) - self._path_score(emissions, labels, mask)

    def _log_partition(self, emissions: Tensor, mask: Tensor) -> Tensor:
        batch, time, labels = emissions.shape
        # All steps' scores at once: (time, batch, labels from, labels to).
        steps = emissions.transpose(0, 1)[:, :, None, :].expand(time, batch, labels, labels)
        steps = steps + self.transitions
        partition = steps[0, :, self.start]
        for step in range(1, time):
            summed = _log_sum_exp(steps[step] + partition[:, :, None])
            partition = torch.where(mask[:, step, None], summed, partition)
        return _log_sum_exp(partition[:, :, None] + self.transitions)[:, self.end].sum()

    def _path_score(self, emissions: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
        before = F.pad(labels[:, :-1], (1, 0), value=self.start)
        scores = self.transitions[before, labels] + emissions.gather(2, labels[:, :, None])[:, :, 0]
        last = labels.gather(1, mask.sum(1, keepdim=True) - 1)[:, 0]
        return scores[mask].sum() + self.transitions[last, self.end].sum()

    def decode(self, emissions: Tensor, mask: Tensor) -> Tensor:
        with torch.no_grad():
            best, pointers = emissions[:, 0] + self.transitions[self.start], []
            for step in range(1, emissions.shape[1]):
                scores, pointer = (best[:, :, None] + self.transitions).max(1)
                keep = mask[:, step, None]
                stay = torch.arange(scores.shape[1]).expand_as(pointer)
                pointers.append(torch.where(keep, pointer, stay))
                best = torch.where(keep, scores + emissions[:, step], best)
            label = (best + self.transitions[:, self.end]).argmax(1)
            path = [label]
            for pointer in reversed(pointers):
                label = pointer.gather(1, label[:, None])[:, 0]
                path.append(label)
            return torch.stack(path[::-1], 1)


def _log_sum_exp(scores: Tensor) -> Tensor:
    """Sum over the labels one comes from, the second axis."""
    top = scores.max(1, keepdim=True).values
    return top[:, 0] + (scores - top).exp().sum(1).log()
