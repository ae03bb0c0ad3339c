"""The distribution in numpy gives the probabilities of the one in torch, whatever the scores."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bilstm_crf.corpus.labels import allowed_transitions, model_labels
from bilstm_crf.model.crf import CRF
from bilstm_crf.model.numpy_posterior import PackedDistribution, path_distribution, softmax
from bilstm_crf.model.numpy_viterbi import TransitionArrays
from bilstm_crf.model.packing import Packing, pack
from bilstm_crf.model.softmax_head import SoftmaxHead

LENGTHS = [9, 4, 4, 2, 1]


def make_crf(scheme: str, mode: str, seed: int, size: float) -> CRF:
    torch.manual_seed(seed)
    labels = model_labels(["LOC", "PER"], scheme)
    crf = CRF(len(labels))
    with torch.no_grad():
        for parameter in crf.parameters():
            parameter.normal_(0.0, size)
    if mode != "none":
        crf.set_constraints(allowed_transitions(labels, scheme), "decode")
    return crf


def arrays_of(crf: CRF) -> TransitionArrays:
    parts = [crf.start_transitions, crf.transitions, crf.end_transitions]
    start, pairs, end = (part.detach().numpy().copy() for part in parts)
    if crf.forbidden is not None:
        forbidden = crf.forbidden.numpy()
        start[forbidden[-1, :-1]] = -np.inf
        pairs[forbidden[:-1, :-1]] = -np.inf
        end[forbidden[:-1, -1]] = -np.inf
    return TransitionArrays(start, pairs, end)


def slots_of(emissions: torch.Tensor, packing: Packing) -> np.ndarray:
    return emissions.numpy()[packing.rows, packing.steps].astype(np.float32)


def mask_of(lengths: list[int]) -> torch.Tensor:
    return torch.arange(lengths[0]) < torch.tensor(lengths)[:, None]


@pytest.mark.parametrize("mode", ["none", "decode"])
@pytest.mark.parametrize("scheme", ["BIO", "BIOES", "IO"])
@pytest.mark.parametrize("size", [0.5, 5.0, 100.0, 2000.0])
def test_gives_the_probabilities_of_torch(scheme: str, mode: str, size: float):
    crf = make_crf(scheme, mode, 5, min(size, 30.0))
    emissions = torch.randn(len(LENGTHS), 9, crf.num_labels) * size
    reference = crf.distribution(emissions.double(), mask_of(LENGTHS))
    packing = pack(np.array(LENGTHS))
    found = path_distribution(slots_of(emissions, packing), packing, arrays_of(crf))
    np.testing.assert_allclose(found.log_partition, reference.log_partition.numpy(), rtol=1e-9)
    by_token = found.states().transpose(1, 0, 2)
    np.testing.assert_allclose(by_token, reference.marginals().numpy(), atol=1e-9)
    labels = list(range(crf.num_labels))
    for before in labels:
        pairs = [before] * len(labels)
        wanted = reference.following(pairs, labels).numpy()
        reachable = reference.states[1:-1, :, before].numpy() > 1e-9
        given_label = found.following(pairs, labels)
        np.testing.assert_allclose(given_label[reachable], wanted[reachable], atol=1e-7)


@given(
    seed=st.integers(0, 50),
    mode=st.sampled_from(["none", "decode"]),
    spans=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 8)), min_size=1, max_size=6),
    positions=st.integers(1, 5),
    temperature=st.sampled_from([0.5, 1.0, 3.0]),
)
def test_spans_have_the_probabilities_of_torch(
    seed: int, mode: str, spans: list[tuple[int, int]], positions: int, temperature: float
):
    crf = make_crf("BIO", mode, seed, 1.0)
    emissions = torch.randn(len(LENGTHS), 9, crf.num_labels) * 3
    rows = np.array([row for row, _ in spans])
    starts = np.array([start % LENGTHS[row] for row, start in spans])
    allowed = np.random.default_rng(seed).random((len(spans), positions, crf.num_labels)) < 0.7
    packing = pack(np.array(LENGTHS))
    scores = slots_of(emissions, packing)
    found = path_distribution(scores, packing, arrays_of(crf), temperature)
    with torch.no_grad():
        for parameter in crf.parameters():
            parameter.div_(temperature)
    wanted = crf.distribution(emissions.double() / temperature, mask_of(LENGTHS)).span_probability(
        torch.from_numpy(rows), torch.from_numpy(starts), torch.from_numpy(allowed)
    )
    np.testing.assert_allclose(
        found.span_probability(rows, starts, allowed), wanted.numpy(), atol=1e-6
    )


def test_paths_that_differ_by_more_than_a_double_holds_are_weighed_rightly():
    """Two ways lead through the sentence with equal scores; each is hopeless for half of it."""
    labels, half = 2, 100
    scores = np.zeros((2 * half, labels), dtype=np.float32)
    scores[:half, 0], scores[half:, 1] = 12.0, 12.0  # a lead of 1,200 for the one, then the other
    pairs = np.array([[0.0, -np.inf], [-np.inf, 0.0]], dtype=np.float32)
    free = np.zeros(labels, dtype=np.float32)
    packing = pack(np.array([2 * half]))
    slots = scores[packing.steps]
    found = path_distribution(slots, packing, TransitionArrays(free, pairs, free))
    marginals = found.marginals()[packing.slots_by_sentence]
    np.testing.assert_allclose(marginals, 0.5, atol=1e-9)


def test_softmax_is_a_distribution_of_independent_labels():
    emissions = torch.randn(len(LENGTHS), 9, 5) * 4
    packing = pack(np.array(LENGTHS))
    found = softmax(slots_of(emissions, packing), packing, 2.0)
    wanted = SoftmaxHead().marginals(emissions / 2.0, mask_of(LENGTHS))
    np.testing.assert_allclose(found.states().transpose(1, 0, 2), wanted.numpy(), atol=1e-6)
    assert isinstance(found, PackedDistribution)
    allowed = np.array([[[True, False, False, False, True], [False, True, True, True, True]]])
    value = found.span_probability(np.array([1]), np.array([1]), allowed)
    first, second = wanted[1, 1].numpy(), wanted[1, 2].numpy()
    np.testing.assert_allclose(value, [(first[0] + first[4]) * (1 - second[0])], rtol=1e-5)
