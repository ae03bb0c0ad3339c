"""What a CRF learns from a real corpus, with a small network below it."""

import zlib

import pytest
import torch
from torch import nn

from bilstm_crf.corpus.labels import (
    allowed_transitions,
    convert_labels,
    invalid_positions,
    model_labels,
    repair_labels,
    split_label,
)
from bilstm_crf.corpus.readers import read_sentences
from bilstm_crf.model.crf import CRF

WORDS = 20_000  # hashed


class SmallTagger(nn.Module):
    """A word and its two neighbours, straight to emissions."""

    def __init__(self, num_labels: int):
        super().__init__()
        self.words = nn.Embedding(WORDS, 32)
        self.window = nn.Conv1d(32, num_labels, 3, padding=1)
        self.crf = CRF(num_labels)

    def emissions(self, words):
        return self.window(self.words(words).transpose(1, 2)).transpose(1, 2)


def batches(path, labels, scheme, size=64):
    """Yield padded words, label ids and lengths of a file's sentences."""
    ids = {label: i for i, label in enumerate(labels)}
    sentences = list(read_sentences(path))
    for first in range(0, len(sentences), size):
        some = sentences[first : first + size]
        lengths = torch.tensor([len(sentence.tokens) for sentence in some])
        words = torch.zeros(len(some), int(lengths.max()), dtype=torch.long)
        gold = torch.full_like(words, -100)
        for row, sentence in enumerate(some):
            repaired = convert_labels(repair_labels(sentence.labels, "BIO"), "BIO", scheme)
            gold[row, : lengths[row]] = torch.tensor([ids[label] for label in repaired])
            hashed = [zlib.crc32(token.lower().encode()) % WORDS for token in sentence.tokens]
            words[row, : lengths[row]] = torch.tensor(hashed)
        yield words, gold, lengths


def trained(path, labels, mode, epochs=3):
    torch.manual_seed(0)
    tagger = SmallTagger(len(labels))
    tagger.crf.set_constraints(allowed_transitions(labels, "BIO"), mode)
    optimizer = torch.optim.Adam(tagger.parameters(), 0.02)
    for _ in range(epochs):
        for words, gold, lengths in batches(path, labels, "BIO"):
            optimizer.zero_grad()
            tagger.crf.loss(tagger.emissions(words), gold, lengths).mean().backward()
            optimizer.step()
    return tagger


@pytest.mark.slow
def test_transitions_learn_the_grammar_of_labels(corpora):
    path = corpora("wnut17") / "train.conll"
    types = {split_label(label)[1] for s in read_sentences(path) for label in s.labels} - {""}
    labels = model_labels(sorted(types), "BIO")
    crf = trained(path, labels, "none").crf
    allowed = allowed_transitions(labels, "BIO")
    legal = torch.as_tensor(allowed.pairs)
    inside = torch.tensor([label.startswith("I-") for label in labels])
    start, pairs = crf.start_transitions.detach(), crf.transitions.detach()
    assert start[inside].max() < start[~inside].mean() - 0.5
    assert pairs[0, inside].max() < pairs[0, 0] - 1.0  # O to I-x, against O to O
    # What may not enter an inner label of a type, against what may.
    for j in inside.nonzero()[:, 0]:
        assert pairs[~legal[:, j], j].mean() < pairs[legal[:, j], j].mean() - 0.5


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["none", "decode", "train_and_decode"])
def test_predictions_on_a_corpus_keep_to_the_scheme(corpora, mode):
    folder = corpora("wnut17")
    paths = [folder / "train.conll", folder / "test.conll"]
    found = {label for path in paths for s in read_sentences(path) for label in s.labels}
    labels = model_labels(sorted({split_label(label)[1] for label in found} - {""}), "BIO")
    tagger = trained(paths[0], labels, mode, epochs=2)
    illegal = 0
    with torch.no_grad():
        for words, gold, lengths in batches(paths[1], labels, "BIO"):
            assert tagger.crf.is_allowed(gold, lengths).all()
            for predicted in tagger.crf.viterbi(tagger.emissions(words), lengths)[0]:
                illegal += bool(invalid_positions([labels[i] for i in predicted], "BIO"))
    if mode == "none":
        assert illegal > 0  # or this test would show nothing
    else:
        assert illegal == 0
