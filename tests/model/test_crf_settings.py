"""Scheme constraints, the bias for no entity, and the costs of mistakes."""

import math
from types import SimpleNamespace

import pytest
import torch
from crf_cases import random_crf
from pydantic import ValidationError
from reference import log_sum_exp
from torch.testing import assert_close

from bilstm_crf.corpus.labels import allowed_transitions, invalid_positions
from bilstm_crf.model.crf import CRF, CRFSection

BIO = ["O", "B-T", "I-T"]
SENTENCE = torch.tensor([[[1.8, 0.1, -0.3], [0.4, 0.35, 1.6], [0.3, 0.0, 1.1]]])
ILLEGAL, REPAIRED = torch.tensor([[0, 2, 2]]), torch.tensor([[0, 1, 2]])


def bio_crf(mode: str) -> CRF:
    crf = CRF(3)
    with torch.no_grad():
        crf.start_transitions.copy_(torch.tensor([0.1, 0.2, -0.3]))
        pairs = [[0.2, 0.1, -0.5], [-0.3, -0.4, 0.8], [0.1, -0.2, 0.3]]
        crf.transitions.copy_(torch.tensor(pairs))
        crf.end_transitions.zero_()
    crf.set_constraints(allowed_transitions(BIO, "BIO"), mode)
    return crf


@pytest.mark.parametrize(
    ("mode", "path"), [("none", ILLEGAL), ("decode", REPAIRED), ("train_and_decode", REPAIRED)]
)
def test_decoding_keeps_to_the_scheme_where_it_should(mode, path):
    assert bio_crf(mode).viterbi(SENTENCE)[0] == path.tolist()


@pytest.mark.parametrize(
    ("mode", "labels", "loss"),
    [
        ("none", ILLEGAL, 1.6314781932),
        ("decode", ILLEGAL, 1.6314781932),
        ("decode", REPAIRED, 1.7814781932),
        ("train_and_decode", REPAIRED, 1.1912377663),
        ("train_and_decode", ILLEGAL, math.inf),
    ],
)
def test_losses_under_constraints(mode, labels, loss):
    crf = bio_crf(mode)
    emissions = SENTENCE.clone().requires_grad_()
    value = crf.loss(emissions, labels)
    assert value.item() == pytest.approx(loss, abs=1e-5)
    value.sum().backward()
    assert emissions.grad.isfinite().all()
    assert all(part.grad.isfinite().all() for part in crf.parameters())


def test_label_paths_against_the_scheme_are_told():
    crf = bio_crf("none")
    paths = torch.tensor([[0, 2, 2], [0, 1, 2], [2, 2, 0], [1, 2, -100]])
    assert crf.is_allowed(paths, torch.tensor([3, 3, 3, 2])).tolist() == [False, True, False, True]
    assert CRF(3).is_allowed(ILLEGAL).tolist() == [True]


@pytest.mark.parametrize("mode", ["decode", "train_and_decode"])
@pytest.mark.parametrize("scheme", ["IOB1", "BIO", "BIOES", "BMES", "BILOU"])
def test_no_answer_leaves_the_scheme(scheme, mode):
    from bilstm_crf.corpus.labels import model_labels

    labels = model_labels(["A", "B"], scheme)
    generator = torch.Generator().manual_seed(1)
    crf = random_crf(len(labels), generator, scale=2.0)
    crf.set_constraints(allowed_transitions(labels, scheme), mode)
    emissions = 5 * torch.randn(8, 12, len(labels), generator=generator, dtype=torch.float64)
    lengths = torch.arange(5, 13)
    paths, scores = crf.viterbi(emissions, lengths)
    ranked, _ = crf.k_best(emissions, 3, lengths)
    drawn = crf.sample(emissions, lengths, generator=generator)[0].tolist()
    for index, length in enumerate(lengths.tolist()):
        assert ranked[index][0] == paths[index]
        for path in [*ranked[index], drawn[index][:length]]:
            names = [labels[label] for label in path]
            assert invalid_positions(names, scheme) == []
    assert scores.isfinite().all()
    marginals = crf.marginals(emissions, lengths)
    assert (marginals[:, 0, ~torch.as_tensor(allowed_transitions(labels, scheme).start)] == 0).all()
    assert_close(marginals[-1].sum(1), torch.ones(12, dtype=torch.float64))


def test_the_partition_counts_legal_paths_only_in_train_and_decode():
    every = bio_crf("none")
    legal = [
        every.path_score(SENTENCE, torch.tensor([path])).item()
        for path in torch.cartesian_prod(*[torch.arange(3)] * 3).tolist()
        if not invalid_positions([BIO[label] for label in path], "BIO")
    ]
    assert len(legal) < 27
    restricted = bio_crf("train_and_decode").log_partition(SENTENCE).item()
    assert restricted == pytest.approx(log_sum_exp(legal), abs=1e-5)
    assert bio_crf("decode").log_partition(SENTENCE) == every.log_partition(SENTENCE)


def test_labels_that_leave_no_legal_path_score_minus_infinity():
    crf = bio_crf("decode")
    only_inside = torch.zeros(1, 3, 3, dtype=torch.bool)
    only_inside[..., 2] = True
    paths, scores = crf.viterbi(SENTENCE, allowed=only_inside)
    assert scores.tolist() == [-math.inf]
    assert all(0 <= label < 3 for label in paths[0])
    assert crf.k_best(SENTENCE, 2, allowed=only_inside)[0] == [[]]


def test_constraints_are_not_saved_and_move_with_the_layer():
    crf = bio_crf("decode")
    crf.set_label_bias(torch.ones(3))
    crf.set_costs(torch.ones(3, 3))
    assert list(crf.state_dict()) == ["start_transitions", "transitions", "end_transitions"]
    assert {name for name, _ in crf.named_buffers()} == {"forbidden", "label_bias", "costs"}
    crf.load_state_dict(CRF(3).state_dict())


def test_the_bias_trades_recall_for_precision_monotonically():
    generator = torch.Generator().manual_seed(7)
    labels = ["O", "B-A", "I-A", "B-B", "I-B"]
    crf = random_crf(5, generator)
    crf.set_constraints(allowed_transitions(labels, "BIO"), "decode")
    emissions = 3 * torch.randn(20, 15, 5, generator=generator, dtype=torch.float64)
    inside, marginals = [], crf.marginals(emissions)
    for bias in torch.linspace(-20, 20, 41).tolist():
        crf.set_label_bias(CRFSection(outside_bias=bias).label_bias(labels))
        paths, _ = crf.viterbi_paths(emissions)
        inside.append(int((paths != 0).sum()))
        assert crf.k_best(emissions, 1)[0][0][0] == paths[0].tolist()
    assert inside == sorted(inside, reverse=True)
    assert inside[0] == 300
    assert inside[-1] == 0
    assert len(set(inside)) > 10
    assert_close(crf.marginals(emissions), marginals)  # a bias decides; it does not believe


def test_a_margin_raises_each_wrong_path_by_its_costs():
    labels = ["O", "B-A", "B-B"]
    section = CRFSection(
        margin=0.5, missed_weight=2.0, spurious_weight=3.0, type_weights={"B": 10.0}
    )
    costs = section.costs(labels)
    assert_close(costs, torch.tensor([[0.0, 1.5, 15.0], [1.0, 0.0, 0.5], [10.0, 5.0, 0.0]]))
    generator = torch.Generator().manual_seed(3)
    crf = random_crf(3, generator)
    emissions = torch.randn(1, 3, 3, generator=generator, dtype=torch.float64)
    right = torch.tensor([[0, 2, 1]])
    plain = crf.loss(emissions, right)
    assert_close(plain, -crf.log_likelihood(emissions, right))
    crf.set_costs(costs)
    raised = [
        crf.path_score(emissions, torch.tensor([path])).item()
        + sum(costs[i, j].item() for i, j in zip(right[0].tolist(), path, strict=True))
        for path in torch.cartesian_prod(*[torch.arange(3)] * 3).tolist()
    ]
    expected = log_sum_exp(raised) - crf.path_score(emissions, right).item()
    assert crf.loss(emissions, right).item() == pytest.approx(expected)
    assert crf.loss(emissions, right).item() > plain.item()
    padded = torch.nn.functional.pad(emissions, (0, 0, 0, 2), value=math.nan)
    labels_padded = torch.nn.functional.pad(right, (0, 2), value=-100)
    assert_close(crf.loss(padded, labels_padded, torch.tensor([3])), crf.loss(emissions, right))


def test_without_margin_or_bias_there_is_nothing_to_set():
    section = CRFSection()
    assert section.costs(BIO) is None
    assert section.label_bias(BIO) is None
    crf = CRF(3)
    crf.set_costs(section.costs(BIO))
    crf.set_label_bias(section.label_bias(BIO))
    assert dict(crf.named_buffers()) == {}


@pytest.mark.parametrize(
    "wrong", [{"margin": -1}, {"constraints": "both"}, {"missed_weight": -0.1}, {"bias": 1}]
)
def test_settings_out_of_range_are_refused(wrong):
    with pytest.raises(ValidationError):
        CRFSection(**wrong)


def test_any_object_with_the_three_arrays_is_a_scheme():
    crf = CRF(2)
    start, pairs, end = [True, False], [[True, False], [True, True]], [True, True]
    crf.set_constraints(SimpleNamespace(start=start, pairs=pairs, end=end), "decode")
    emissions = torch.tensor([[[0.0, 9.0], [0.0, 9.0]]])
    assert crf.viterbi(emissions)[0] == [[0, 0]]
