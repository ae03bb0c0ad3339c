"""The whole network: what may change a sentence's scores, and what must not."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from bilstm_crf.corpus.batches import Batch, make_batch
from bilstm_crf.corpus.encoding import EncodedCorpus, encode
from bilstm_crf.corpus.forms import FormTable
from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.corpus.vocabulary import Vocabulary, WordVocabulary
from bilstm_crf.model.column_names import column_module
from bilstm_crf.model.tagger import ModelSection, TableSizes, TaggerNetwork

SENTENCES = [
    Sentence(("the", "cat", "sat", "the"), ("O", "A", "B", "O"), features={"pos.x": tuple("nvnn")}),
    Sentence(("cat",), ("A",), features={"pos.x": ("v",)}),
    Sentence(("a", "saturday"), ("O", "B"), features={"pos.x": ("n", "n")}),
]
VARIANTS: dict[str, dict[str, object]] = {
    "default": {},
    "char lstm": {"char_encoder": {"type": "lstm", "hidden_size": 3}},
    "no characters": {"char_encoder": {"type": "none"}},
    "no words": {"word_embeddings": {"size": 0}, "form_embeddings": {"size": 2}},
    "fixed words": {"word_embeddings": {"size": 6, "trainable": False}},
    "two layers": {"lstm": {"layers": 2, "hidden_size": 4}},
    "softmax": {"head": "softmax"},
    "plain dropout": {"dropout": {"kind": "plain"}},
    "members": {"members": 2},
}


def section_of(**changes: object) -> ModelSection:
    small = {"word_embeddings": {"size": 6}, "lstm": {"hidden_size": 5}}
    return ModelSection.model_validate({**small, **changes})


def make_network(section: ModelSection, columns: tuple[str, ...] = ()) -> TaggerNetwork:
    torch.manual_seed(1)
    sizes = TableSizes(
        trained_words=6, stored_words=0, chars=12, labels=3, columns=dict.fromkeys(columns, 3)
    )
    return TaggerNetwork(section, sizes)


def corpus_and_forms(columns: tuple[str, ...] = ()) -> tuple[EncodedCorpus, FormTable]:
    corpus = encode(SENTENCES, columns)
    forms = FormTable(WordVocabulary(corpus.forms), Vocabulary("thecasurdy"), longest=20)
    forms.extend(corpus.forms)
    return corpus, forms


def batch_of(*sentences: int, columns: tuple[str, ...] = ()) -> Batch:
    return make_batch(*corpus_and_forms(columns), np.array(sentences))


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS.keys())
def test_neighbours_in_the_batch_change_nothing(changes: dict[str, object]) -> None:
    network = make_network(section_of(**changes)).eval()
    together = network.emissions(batch_of(0, 1, 2))
    assert together.dtype == torch.float32
    for row, sentence in enumerate(SENTENCES):
        alone = network.emissions(batch_of(row))[0]
        torch.testing.assert_close(together[row, : len(sentence)], alone)
    loss = network.loss(batch_of(0, 1, 2))
    torch.testing.assert_close(loss[1:2], network.loss(batch_of(1)))


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS.keys())
def test_every_weight_learns(changes: dict[str, object]) -> None:
    network = make_network(section_of(**changes)).train()
    network.loss(batch_of(0, 1, 2)).sum().backward()
    for name, weight in network.named_parameters():
        if weight.requires_grad and weight.numel():
            assert weight.grad is not None, name
            assert weight.grad.to_dense().abs().sum() > 0, name


def test_extra_columns_enter_the_input() -> None:
    network = make_network(section_of(), ("pos.x",)).eval()
    batch = batch_of(0, columns=("pos.x",))
    before = network.emissions(batch)
    batch.columns["pos.x"][0, 1] = 2
    assert not torch.allclose(network.emissions(batch), before)
    assert network.column_table("pos.x").shape == (3, 10)


def test_names_of_columns_cannot_collide() -> None:
    assert len({column_module(name) for name in ("a.b", "a_b", "a__b", "a._b")}) == 4


def test_emissions_equal_the_plain_composition() -> None:
    network = make_network(section_of()).eval()
    batch = batch_of(0)
    vectors = network.encode_forms(batch)[batch.index[0]][None]
    ahead, _ = network.lstm.forward_layers[0](vectors)
    behind, _ = network.lstm.backward_layers[0](vectors.flip(1))
    states = torch.cat([ahead, behind.flip(1)], dim=2)
    torch.testing.assert_close(network.emissions(batch), network.projection(states))


def test_members_are_averaged_and_learn_by_themselves() -> None:
    network = make_network(section_of(members=3)).eval()
    batch = batch_of(0, 1, 2)
    states = network.states(batch)
    scores = [member.score(one) for member, one in zip(network.members, states, strict=True)]
    assert not torch.allclose(scores[0], scores[1])
    emissions = network.emissions(batch)
    torch.testing.assert_close(emissions, sum(scores) / 3)
    forms = network.encode_forms(batch)
    assert forms.shape[1] == network.form_size
    again = network.token_emissions(forms, batch.index, batch.lengths, {})
    torch.testing.assert_close(again, emissions)
    assert batch.labels is not None
    each = [network.head.loss(one, batch.labels, batch.mask) for one in scores]
    torch.testing.assert_close(network.loss(batch), sum(each) / 3)


def test_members_share_the_rows_known_only_from_vectors() -> None:
    torch.manual_seed(1)
    sizes = TableSizes(trained_words=2, stored_words=3, chars=12, labels=3)
    network = TaggerNetwork(section_of(members=2), sizes).eval()
    vectors = np.ones((3, 6), dtype=np.float32)
    network.word_embeddings.load_pretrained(np.arange(2, 5), vectors)
    words = torch.arange(2, 5)
    for member in network.members:
        torch.testing.assert_close(member.word_embeddings(words), torch.ones(3, 6))
    stored = [name for name in network.state_dict() if name.endswith("stored")]
    assert stored == ["word_embeddings.stored"]
    copy = TaggerNetwork(section_of(members=2), sizes)
    copy.load_state_dict(network.state_dict())
    for member in copy.eval().members:
        torch.testing.assert_close(member.word_embeddings(words), torch.ones(3, 6))


def test_a_loss_needs_labels() -> None:
    corpus, forms = corpus_and_forms()
    batch = make_batch(corpus, forms, np.array([0]), with_labels=False)
    with pytest.raises(ValueError, match="labels"):
        make_network(section_of()).loss(batch)


def test_paths_end_with_the_sentence() -> None:
    network = make_network(section_of()).eval()
    with torch.no_grad():
        network.projection.bias[0] = -100.0  # never label 0, which also fills the padding
    paths = network.decode(batch_of(0, 1, 2))
    assert (paths > 0).tolist() == [
        [True] * 4,
        [True, False, False, False],
        [True, True, False, False],
    ]


def test_dropout_is_drawn_in_training_only() -> None:
    network, batch = make_network(section_of()), batch_of(0, 1, 2)
    assert not torch.equal(network.train().loss(batch), network.loss(batch))
    assert torch.equal(network.eval().loss(batch), network.loss(batch))


def gradients(network: nn.Module) -> list[Tensor]:
    return [p.grad.to_dense() for p in network.parameters() if p.grad is not None]


def test_bf16_gives_nearly_the_same_gradient() -> None:
    section = section_of(dropout={"inputs": 0, "outputs": 0, "words": 0})
    plain, half = make_network(section), make_network(section)
    batch = batch_of(0, 1, 2)
    plain.loss(batch).sum().backward()
    with torch.autocast("cpu", torch.bfloat16):
        loss = half.loss(batch).sum()
    loss.backward()
    assert loss.dtype == torch.float32
    a = torch.cat([g.flatten() for g in gradients(plain)])
    b = torch.cat([g.flatten() for g in gradients(half)])
    assert torch.cosine_similarity(a, b, dim=0) > 0.999


def test_parameter_names_are_those_of_published_models() -> None:
    names = set(make_network(section_of()).state_dict())
    for name in (
        "word_embeddings.weight",
        "word_embeddings.stored",
        "char_encoder.embedding.weight",
        "char_encoder.convolution.weight",
        "lstm.forward_layers.0.weight_ih_l0",
        "lstm.backward_layers.0.bias_hh_l0",
        "projection.weight",
        "head.transitions",
    ):
        assert name in names
