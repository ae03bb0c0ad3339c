"""Batches: every sentence once, in an order that depends on the seed alone."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bilstm_crf.corpus.batches import make_batch, plan_batches
from bilstm_crf.corpus.encoding import encode
from bilstm_crf.corpus.forms import FormTable
from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.corpus.vocabulary import Vocabulary, WordVocabulary

SENTENCES = [
    Sentence(("b", "a", "b"), ("O", "X", "O"), features={"pos": ("n", "v", "n")}),
    Sentence(("cc",), ("X",), features={"pos": ("n",)}),
    Sentence(("a", "cc"), ("O", "O"), features={"pos": ("v", "v")}),
]


def forms_of(corpus_forms: tuple[str, ...]) -> FormTable:
    table = FormTable(WordVocabulary(corpus_forms), Vocabulary("abc"), longest=10)
    table.extend(corpus_forms)
    return table


lengths_of_corpora = st.lists(st.integers(0, 30), max_size=60).map(np.array)


@given(
    lengths=lengths_of_corpora.map(lambda a: a.astype(np.int64)),
    size=st.integers(1, 9),
    tokens=st.none() | st.integers(1, 80),
    shuffle=st.none() | st.tuples(st.integers(0, 3), st.integers(0, 3)),
)
def test_every_sentence_with_a_token_comes_exactly_once(
    lengths: np.ndarray, size: int, tokens: int | None, shuffle: tuple[int, int] | None
) -> None:
    plan = plan_batches(lengths, batch_size=size, batch_tokens=tokens, shuffle=shuffle)
    numbers = np.concatenate(plan) if plan else np.zeros(0)
    assert sorted(numbers.tolist()) == np.flatnonzero(lengths).tolist()
    for batch in plan:
        assert 1 <= len(batch) <= size
        if tokens is not None:
            assert len(batch) == 1 or len(batch) * lengths[batch].max() <= tokens


def test_batches_hold_sentences_of_similar_length() -> None:
    lengths = np.random.default_rng(1).integers(1, 60, 2000)
    plan = plan_batches(lengths, batch_size=32, shuffle=(1, 1))
    padded = sum(len(batch) * int(lengths[batch].max()) for batch in plan)
    assert padded / lengths.sum() < 1.02


def test_the_order_follows_from_the_seed_numbers() -> None:
    lengths = np.random.default_rng(1).integers(1, 9, 200)

    def plan(*numbers: int) -> list[list[int]]:
        return [b.tolist() for b in plan_batches(lengths, batch_size=8, shuffle=numbers)]

    assert plan(1, 1) == plan(1, 1)
    assert plan(1, 1) != plan(1, 2)
    assert plan(1, 2) != plan(2, 1)


def test_without_shuffling_the_longest_come_first() -> None:
    plan = plan_batches(np.array([2, 5, 1, 5]), batch_size=2)
    assert [batch.tolist() for batch in plan] == [[1, 3], [0, 2]]


def test_a_batch_holds_each_distinct_form_once_and_leads_back_to_the_tokens() -> None:
    corpus = encode(SENTENCES, ["pos"])
    batch = make_batch(corpus, forms_of(corpus.forms), np.array([0, 2]))
    assert batch.words.tolist() == [1, 2, 3]  # b, a, cc in the order of first appearance
    assert batch.chars.tolist() == [[3, 0], [2, 0], [4, 4]]  # ids of a, b, c start at 2
    assert batch.index.tolist() == [[0, 1, 0], [1, 2, 0]]
    assert batch.lengths.tolist() == [3, 2]
    assert batch.mask.tolist() == [[True, True, True], [True, True, False]]
    assert batch.labels is not None
    assert batch.labels.tolist() == [[0, 1, 0], [0, 0, 0]]
    assert batch.columns["pos"].tolist() == [[0, 1, 0], [1, 1, 0]]
    assert batch.num_tokens == 5
    assert batch.sentences is not None
    assert batch.sentences.tolist() == [0, 2]


def test_labels_may_stay_behind() -> None:
    corpus = encode(SENTENCES)
    forms = forms_of(corpus.forms)
    assert make_batch(corpus, forms, np.array([1]), with_labels=False).labels is None
    unlabelled = encode(Sentence(s.tokens) for s in SENTENCES)
    assert make_batch(unlabelled, forms_of(unlabelled.forms), np.array([1])).labels is None


@given(st.permutations(range(3)), st.integers(1, 3))
def test_any_choice_of_sentences_can_be_read_back(order: list[int], count: int) -> None:
    corpus = encode(SENTENCES)
    forms = forms_of(corpus.forms)
    chosen = np.array(order[:count])
    batch = make_batch(corpus, forms, chosen)
    for row, number in enumerate(chosen):
        words = batch.words[batch.index[row, : batch.lengths[row]]]
        tokens = tuple(corpus.forms[i - 1] for i in words.tolist())
        assert tokens == SENTENCES[number].tokens
    assert batch.to(torch.device("cpu")) is batch


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_moves_to_a_gpu_as_a_whole() -> None:
    corpus = encode(SENTENCES, ["pos"])
    batch = make_batch(corpus, forms_of(corpus.forms), np.array([0, 2])).to(torch.device("cuda"))
    assert batch.labels is not None
    tensors = [batch.words, batch.chars, batch.form_features, batch.index, batch.lengths]
    assert all(t.is_cuda for t in [*tensors, batch.labels, batch.columns["pos"], batch.mask])
