"""The network in numpy gives what the network in torch gives, in whatever batch."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from random_models import random_model

from bilstm_crf.corpus.forms import FormTable
from bilstm_crf.corpus.labels import allowed_transitions, model_labels
from bilstm_crf.model.column_names import column_module
from bilstm_crf.model.crf import CRF
from bilstm_crf.model.flat_sentences import FlatSentences
from bilstm_crf.model.inference import InferenceNetwork
from bilstm_crf.model.numpy_network import NumpyNetwork
from bilstm_crf.model.numpy_viterbi import NumpyViterbi, TransitionArrays
from bilstm_crf.model.packing import MIN_ROWS, pack
from bilstm_crf.prediction.model_file import TrainedModel
from bilstm_crf.training.preparation import form_table

FORMS = [
    "the",
    "Mira",
    "Holt",
    "sang",
    "norvale",
    "x",
    "",
    "日本",
    "e" * 60,
    "7.5",
    "oskar",
    "Port",
]

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "two layers": {"lstm": {"hidden_size": 5, "layers": 2}},
    "character LSTM": {"char_encoder": {"type": "lstm", "hidden_size": 4}},
    "even filters": {"char_encoder": {"type": "cnn", "width": 4, "filters": 7}},
    "no characters": {"char_encoder": "none", "form_embeddings": {"size": 3}},
    "softmax": {"head": "softmax"},
    "no constraints": {"crf": {"constraints": "none"}},
    "bias": {"crf": {"outside_bias": 0.2}},
    "no words": {"word_embeddings": {"size": 0}},
    "three members": {"members": 3},
    "two members of two layers": {
        "members": 2,
        "lstm": {"hidden_size": 5, "layers": 2},
        "columns": {"pos": ("N", "V")},
    },
    "probable entities": {"crf": {"decoding": "expected_f1", "entity_threshold": 0.1}},
    "probable entities with a bias": {
        "crf": {"decoding": "expected_f1", "entity_threshold": 0.2, "outside_bias": 0.3}
    },
    "columns": {"columns": {"pos": ("N", "V"), "in.list": ("yes",)}},
}


def both(model: TrainedModel, **options: int) -> tuple[NumpyNetwork, InferenceNetwork]:
    columns = {name: column_module(name) for name in model.vocabularies.columns}
    light = NumpyNetwork(
        {name: weight.numpy() for name, weight in model.weights.items()},
        model.section.model_dump(mode="json"),
        model.vocabularies.labels,
        model.scheme,
        columns,
        **options,
    )
    return light, InferenceNetwork(model.network())


def table_of(model: TrainedModel) -> FormTable:
    table = form_table(model.section, model.vocabularies)
    table.extend(FORMS)
    return table


def random_sentences(model: TrainedModel, lengths: list[int], seed: int = 0) -> FlatSentences:
    rng = np.random.default_rng(seed)
    starts = np.cumsum([0, *lengths])
    return FlatSentences(
        rng.integers(0, len(FORMS), starts[-1]),
        starts,
        {
            name: rng.integers(0, len(values), starts[-1])
            for name, values in model.vocabularies.columns.items()
        },
    )


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_numpy_gives_the_emissions_and_labels_of_torch(settings: dict[str, Any]):
    model = random_model(**settings)
    light, reference = both(model)
    table, numbers = table_of(model), np.arange(len(FORMS))
    sentences = random_sentences(model, [3, 1, 9, 0, 4, 4, 1, 17])
    vectors = reference.form_inputs(table, numbers)
    inputs = light.form_inputs(table, numbers)
    wanted = reference.label_ids(vectors, sentences)
    assert light.label_ids(inputs, sentences).tolist() == wanted.tolist()
    assert len(set(wanted.tolist())) > 1
    (batch,) = reference.emissions(vectors, sentences)
    lengths = np.diff(sentences.starts)[batch.sentences]
    packing = pack(lengths)
    places = sentences.starts[batch.sentences][packing.rows] + packing.steps
    found = light._emissions(inputs, sentences, packing, places)[packing.padded]
    mask = batch.mask.numpy()
    np.testing.assert_allclose(found[mask], batch.emissions.numpy()[mask], atol=1e-4)


@given(
    lengths=st.lists(st.integers(0, 12), min_size=1, max_size=12),
    seed=st.integers(0, 5),
    size=st.integers(1, 6),
    threads=st.sampled_from([1, 3]),
)
def test_labels_do_not_depend_on_the_batch(lengths: list[int], seed: int, size: int, threads: int):
    model = random_model()
    table = table_of(model)
    whole, _ = both(model)
    parts, _ = both(model, batch_sentences=size, threads=threads)
    sentences = random_sentences(model, lengths, seed)
    inputs = whole.form_inputs(table, np.arange(len(FORMS)))
    assert (
        parts.label_ids(inputs, sentences).tolist() == whole.label_ids(inputs, sentences).tolist()
    )


@given(
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=9),
    scheme=st.sampled_from(["BIO", "BIOES", "IOB1", None]),
    seed=st.integers(0, 1000),
)
def test_viterbi_finds_the_paths_of_the_crf(lengths: list[int], scheme: str | None, seed: int):
    torch.manual_seed(seed)
    labels = model_labels(["A", "B"], scheme or "BIO")
    crf = CRF(len(labels))
    with torch.no_grad():
        for parameter in crf.parameters():
            parameter.normal_()
    start, pairs, end = (
        parameter.detach().numpy()
        for parameter in (crf.start_transitions, crf.transitions, crf.end_transitions)
    )
    if scheme:
        allowed = allowed_transitions(labels, scheme)
        crf.set_constraints(allowed, "decode")
        start, pairs, end = (
            np.where(may, scores, -np.inf).astype(np.float32)
            for may, scores in (
                (allowed.start, start), (allowed.pairs, pairs), (allowed.end, end),
            )
        )  # fmt: skip
    lengths = sorted(lengths, reverse=True)
    emissions = torch.randn(len(lengths), lengths[0], len(labels))
    packing = pack(np.array(lengths))
    flat = emissions[torch.from_numpy(packing.rows), torch.from_numpy(packing.steps)].numpy().T
    viterbi = NumpyViterbi(TransitionArrays(start, pairs, end))
    path = viterbi.paths(flat.copy(), packing.mask.sum(0), packing.padded[0])
    wanted, _ = crf.viterbi(emissions, torch.tensor(lengths))
    found = [path[row[:n]].tolist() for row, n in zip(packing.padded, lengths, strict=True)]
    assert found == wanted


def test_viterbi_keeps_its_digits_over_long_sentences():
    """Scores are brought back to 0 on the way; single precision would lose them otherwise."""
    rng = np.random.default_rng(1)
    steps, labels = 20_000, 4
    emissions = (rng.standard_normal((labels, steps)) + 500).astype(np.float32)
    zeros = np.zeros(labels, dtype=np.float32)
    viterbi = NumpyViterbi(TransitionArrays(zeros, np.zeros((labels, labels), np.float32), zeros))
    path = viterbi.paths(emissions, np.ones(steps, dtype=np.int64), np.arange(steps))
    assert (path != emissions.argmax(axis=0)).mean() < 0.001


@given(st.lists(st.integers(1, 9), min_size=1, max_size=8))
def test_packing_has_each_token_once_and_its_mirror(lengths: list[int]):
    lengths = sorted(lengths, reverse=True)
    packing = pack(np.array(lengths))
    tokens = [(int(packing.rows[slot]), int(packing.steps[slot])) for slot in packing.token_slots]
    assert sorted(tokens) == [(row, step) for row, n in enumerate(lengths) for step in range(n)]
    assert packing.sizes.min() >= MIN_ROWS
    for row, length in enumerate(lengths):
        for step in range(length):
            slot = packing.padded[row, step]
            assert (packing.rows[slot], packing.steps[slot]) == (row, step)
            assert packing.reverse[slot] == packing.padded[row, length - 1 - step]


@pytest.mark.parametrize("lengths", [[], [1, 2], [2, 0]])
def test_packing_refuses_what_it_cannot_lay_out(lengths: list[int]):
    with pytest.raises(ValueError, match="falling length"):
        pack(np.array(lengths, dtype=np.int64))
