"""Scores of any size, long sentences, precision, and the agreement of both kinds of messages."""

import math

import pytest
import torch
from crf_cases import cases, random_crf
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import ReferenceCRF, log_sum_exp
from torch.testing import assert_close
from torchcrf import CRF as PeerCRF

from bilstm_crf.model.crf import CRF
from bilstm_crf.model.crf_lattice import Lattice, build_lattice
from bilstm_crf.model.crf_log_messages import log_messages
from bilstm_crf.model.crf_messages import run_messages
from bilstm_crf.model.crf_weight_messages import weight_messages

EXAMPLES = settings(max_examples=60, deadline=None)


@given(case=cases(torch.float64), data=st.data())
@EXAMPLES
def test_scores_of_20000_are_as_exact_as_small_ones(case, data):
    size = data.draw(st.sampled_from([40.0, 85.0, 2_000.0, 20_000.0]))
    sign = torch.where(torch.rand(case.emissions.shape, generator=case.generator) < 0.5, -1.0, 1.0)
    case.emissions += sign * size
    log_partition = case.crf.log_partition(case.emissions, case.lengths)
    likelihood = case.crf.log_likelihood(case.emissions, case.labels, case.lengths)
    paths, _ = case.crf.viterbi(case.emissions, case.lengths)
    marginals = case.crf.marginals(case.emissions, case.lengths)
    for index, length, reference in case.sentences():
        assert_close(log_partition[index].item(), reference.log_partition)
        expected = reference.log_likelihood(case.path(index))
        assert_close(likelihood[index].item(), expected, rtol=1e-9, atol=1e-9)
        assert_close(reference.scores[tuple(paths[index])], reference.viterbi())
        assert_close(marginals[index, :length].tolist(), reference.marginals())


def test_a_likelihood_is_not_lost_between_two_large_scores():
    # In float32 20,000 has a last digit of 0.002; the difference is taken before rounding.
    crf = CRF(2)
    with torch.no_grad():
        for part in crf.parameters():
            part.zero_()
    emissions = torch.tensor([[[20_000.0, 19_999.0]] * 50])
    loss = -crf.log_likelihood(emissions, torch.zeros(1, 50, dtype=torch.long))
    assert loss.item() == pytest.approx(50 * math.log1p(math.exp(-1)), rel=1e-6)


@pytest.mark.parametrize("forbid", ["nothing", "labels", "pairs", "both"])
def test_messages_on_weights_equal_messages_on_logs(forbid):
    generator = torch.Generator().manual_seed(len(forbid))
    on_weights = 0
    for trial in range(60):
        batch, time, labels = (
            int(torch.randint(1, limit, (), generator=generator)) for limit in (4, 60, 6)
        )
        scale = 10 ** (-1 + 2.5 * trial / 60)
        crf = random_crf(labels, generator, scale=0.3 * scale)
        emissions = torch.randn(batch, time, labels, generator=generator, dtype=torch.float64)
        options = {}
        if forbid in ("pairs", "both"):
            options["forbidden"] = torch.rand(labels + 1, labels + 1, generator=generator) < 0.2
            options["forbidden"][-1, -1] = False
        if forbid in ("labels", "both"):
            options["allowed"] = torch.rand(emissions.shape, generator=generator) < 0.8
        lengths = torch.randint(time + 1, (batch, 1), generator=generator)
        lattice = build_lattice(
            emissions * scale, *crf.parameters(), mask=torch.arange(time) < lengths, **options
        )
        logs, weights = log_messages(lattice), weight_messages(lattice)
        if weights is None:
            continue
        on_weights += 1
        assert_close(weights.log_partition, logs.log_partition, rtol=1e-10, atol=1e-10)
        factors = torch.randn(batch, generator=generator, dtype=torch.float64)
        for one, two in zip(weights.expected(factors), logs.expected(factors), strict=True):
            assert_close(one, two, rtol=1e-9, atol=1e-9)
    assert on_weights >= 15


def two_labels_apart(emissions: list[tuple[int, float]]) -> Lattice:
    """Return a lattice in which no sentence changes between its two labels.

    Args:
        emissions: for stretches of the sentence the number of tokens and the score of the first
            label; that of the second is its negative.
    """
    first = torch.cat([torch.full((tokens,), score) for tokens, score in emissions]).double()
    forbidden = torch.zeros(3, 3, dtype=torch.bool)
    forbidden[0, 1] = forbidden[1, 0] = True
    nothing = torch.zeros(2, 2).double()
    scores = torch.stack([first, -first], 1)[None]
    return build_lattice(scores, nothing[0], nothing, nothing[0], forbidden=forbidden)


@pytest.mark.parametrize(
    "emissions",
    [
        [(10, 40.0), (25, -40.0)],  # the better path has the beginning that weights lose
        [(25, -40.0), (10, 40.0)],  # and here the ending
        [(10, 40.0), (25, -40.0), (10, 40.0)],  # and here both, and only its middle is better
        [(40, 40.0), (39, -40.0)],
    ],
)
def test_weights_that_leave_the_number_format_are_noticed(emissions):
    lattice = two_labels_apart(emissions)
    assert weight_messages(lattice) is None
    total = sum(tokens * score for tokens, score in emissions)
    exact = run_messages(lattice).log_partition.item()
    assert exact == pytest.approx(log_sum_exp([total, -total]))


def test_weights_that_differ_within_the_number_format_are_used():
    lattice = two_labels_apart([(4, 40.0), (5, -40.0)])
    messages = weight_messages(lattice)
    assert messages is not None
    assert messages.log_partition.item() == pytest.approx(log_sum_exp([40.0, -40.0]))


@pytest.mark.parametrize("mode", ["none", "train_and_decode"])
def test_sentences_of_5000_tokens(mode):
    generator = torch.Generator().manual_seed(0)
    crf = random_crf(3, generator, scale=2.0)
    if mode != "none":
        crf.set_constraints(_Ban(), mode)
    emissions = 5 * torch.randn(2, 5_000, 3, generator=generator, dtype=torch.float64)
    lengths = torch.tensor([5_000, 3_000])
    lattice = build_lattice(
        emissions,
        *crf.parameters(),
        mask=torch.arange(5_000) < lengths[:, None],
        forbidden=crf.forbidden,
    )
    value = crf.log_partition(emissions, lengths)
    assert_close(value, log_messages(lattice).log_partition)
    marginals = crf.marginals(emissions, lengths)
    assert_close(marginals[0].sum(1), torch.ones(5_000, dtype=torch.float64))
    paths, scores = crf.viterbi(emissions, lengths)
    assert [len(path) for path in paths] == [5_000, 3_000]
    found = torch.tensor([paths[0], paths[1] + [0] * 2_000])
    assert_close(crf.path_score(emissions, found, lengths), scores)
    assert (scores < value).all()


class _Ban:
    """A scheme of three labels in which 2 follows only 1 or itself."""

    start = torch.tensor([True, True, False])
    pairs = torch.tensor([[True, True, False], [True, True, True], [True, True, True]])
    end = torch.tensor([True, True, True])


def test_gradients_are_at_least_as_exact_as_those_of_pytorch_crf():
    generator = torch.Generator().manual_seed(0)
    peer = PeerCRF(9, batch_first=True)
    crf = CRF(9)
    crf.load_state_dict(peer.state_dict())
    exact = CRF(9).double()
    exact.load_state_dict(peer.state_dict())
    emissions = torch.randn(4, 512, 9, generator=generator)
    labels = torch.randint(9, (4, 512), generator=generator)

    def gradients(layer, emissions):
        emissions = emissions.clone().requires_grad_()
        layer.zero_grad()
        layer(emissions, labels, torch.ones(4, 512, dtype=torch.bool)).sum().backward()
        parts = dict(layer.named_parameters())
        return [emissions.grad, *(parts[name].grad for name in sorted(parts))]

    expected = gradients(exact, emissions.double())
    # The peer's own double gradients say that ours are the right ones to compare with.
    for one, two in zip(gradients(peer.double(), emissions.double()), expected, strict=True):
        assert_close(one, two)
    ours, theirs = (
        [
            float((part.double() - right).abs().max() / right.abs().max())
            for part, right in zip(gradients(layer, emissions), expected, strict=True)
        ]
        for layer in (crf, peer.float())
    )
    assert max(ours) < 1e-6
    assert all(one <= two for one, two in zip(ours, theirs, strict=True))


@given(case=cases(torch.float32))
@EXAMPLES
def test_agrees_with_pytorch_crf(case):
    keep = case.lengths > 0  # the peer knows no empty sentences
    if not keep.any():
        return
    peer = PeerCRF(case.crf.num_labels, batch_first=True)
    peer.load_state_dict(case.crf.state_dict())
    emissions = torch.nan_to_num(case.emissions[keep])
    mask, labels = case.mask[keep], case.labels[keep].clamp(min=0)
    theirs = peer(emissions, labels, mask, reduction="none")
    assert_close(case.crf(emissions, labels, mask), theirs, rtol=1e-4, atol=1e-4)
    expected = [
        ReferenceCRF.path_score(case.reference(int(i)), tuple(path))
        for i, path in zip(keep.nonzero()[:, 0], peer.decode(emissions, mask), strict=True)
    ]
    assert_close(case.crf.viterbi(emissions, mask)[1].tolist(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("given_as", [torch.float32, torch.bfloat16, torch.float16])
def test_half_precision_stops_at_the_door(given_as):
    generator = torch.Generator().manual_seed(2)
    crf = CRF(5)
    emissions = torch.randn(3, 20, 5, generator=generator).to(given_as)
    labels = torch.randint(5, (3, 20), generator=generator)
    expected = crf.log_likelihood(emissions.float(), labels)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        leaf = emissions.clone().requires_grad_()
        value = crf.log_likelihood(leaf, labels)
        scores, path_scores = crf.viterbi(emissions)[1], crf.path_score(emissions, labels)
        marginals = crf.marginals(emissions)
    assert {value.dtype, scores.dtype, path_scores.dtype, marginals.dtype} == {torch.float32}
    assert_close(path_scores, crf.path_score(emissions.float(), labels))
    assert_close(value, expected)
    value.sum().backward()
    assert leaf.grad.dtype == given_as
    assert_close(scores, crf.viterbi(emissions.float())[1])
    assert_close(marginals.sum(2), torch.ones(3, 20))


def test_single_precision_messages_serve_devices_without_double(monkeypatch):
    monkeypatch.setattr("bilstm_crf.model.crf_lattice.working_dtype", lambda _: torch.float32)
    generator = torch.Generator().manual_seed(4)
    crf = random_crf(4, generator, dtype=torch.float32)
    emissions = torch.randn(2, 200, 4, generator=generator)
    lattice = build_lattice(emissions, *crf.parameters())
    weights = weight_messages(lattice)
    assert weights is not None
    assert weights.log_partition.dtype == torch.float32
    assert_close(weights.log_partition, log_messages(lattice).log_partition)
    assert_close(crf.marginals(emissions).sum(2), torch.ones(2, 200))


def test_large_products_give_what_small_ones_give():
    generator = torch.Generator().manual_seed(8)
    crf = random_crf(40, generator)
    emissions = torch.randn(80, 4, 40, generator=generator, dtype=torch.float64)
    lengths = torch.randint(5, (80,), generator=generator)
    together = crf.log_partition(emissions, lengths)
    some = [
        crf.log_partition(*part) for part in zip(emissions.split(9), lengths.split(9), strict=True)
    ]
    assert_close(together, torch.cat(some))


def test_devices_without_numpy_run_the_same_code(monkeypatch):
    generator = torch.Generator().manual_seed(6)
    crf = random_crf(4, generator)
    emissions = 5 * torch.randn(3, 21, 4, generator=generator, dtype=torch.float64)
    labels, lengths = torch.randint(4, (3, 21), generator=generator), torch.tensor([21, 8, 0])

    def answers():
        leaf = emissions.clone().requires_grad_()
        value = crf.log_likelihood(leaf, labels, lengths)
        value.sum().backward()
        paths, scores = crf.viterbi(leaf, lengths)
        return [value.detach(), leaf.grad, crf.entropy(leaf, lengths), scores], paths

    on_cpu, paths = answers()
    for module in ("crf_lattice", "crf_weight_messages", "crf_decoding"):
        monkeypatch.setattr(f"bilstm_crf.model.{module}.native", lambda *a, **_: (torch, list(a)))
    elsewhere, same_paths = answers()
    assert_close(elsewhere, on_cpu)
    assert same_paths == paths
