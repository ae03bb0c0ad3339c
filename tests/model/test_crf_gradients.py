"""Gradients: against finite differences, closed forms, and in the padding."""

import math

import pytest
import torch
from crf_cases import cases, random_crf
from hypothesis import given, settings
from torch.testing import assert_close

from bilstm_crf.model.crf import CRF, allowed_labels

EXAMPLES = settings(max_examples=60, deadline=None)


def scores_of(crf: CRF) -> list[torch.nn.Parameter]:
    return [crf.start_transitions, crf.transitions, crf.end_transitions]


def with_scores(crf: CRF, start, transitions, end) -> CRF:
    """Return a CRF that computes with these very tensors, so that gradients reach them."""
    other = CRF(crf.num_labels)
    for name, value in [
        ("start_transitions", start),
        ("transitions", transitions),
        ("end_transitions", end),
    ]:
        delattr(other, name)
        setattr(other, name, value)
    return other


QUESTIONS = {
    "log_partition": lambda crf, emissions, case: crf.log_partition(emissions, case["mask"]),
    "log_likelihood": lambda crf, emissions, case: crf.log_likelihood(
        emissions, case["labels"], case["mask"]
    ),
    "path_score": lambda crf, emissions, case: crf.path_score(
        emissions, case["labels"], case["mask"]
    ),
    "partial_log_likelihood": lambda crf, emissions, case: crf.partial_log_likelihood(
        emissions, case["allowed"], case["mask"]
    ),
}


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS.keys())
@pytest.mark.parametrize("scale", [1.0, 300.0], ids=["weights", "logs"])
def test_gradients_are_those_of_finite_differences(ask, scale):
    generator = torch.Generator().manual_seed(5)
    crf = random_crf(3, generator)
    # One token with scores beyond the range of weights makes the recursions work on logs.
    emissions = torch.randn(2, 4, 3, generator=generator, dtype=torch.float64)
    emissions[0, 0] += torch.tensor([scale, scale, scale])
    case = {
        "labels": torch.tensor([[0, 2, 1, 0], [1, 1, -1, -1]]),
        "mask": torch.tensor([4, 2]),
        "allowed": torch.rand(2, 4, 3, generator=generator) < 0.7,
    }
    case["allowed"][..., 1] = True
    inputs = [emissions.requires_grad_(), *scores_of(crf)]
    assert torch.autograd.gradcheck(
        lambda emissions, *scores: ask(with_scores(crf, *scores), emissions, case), inputs
    )


@given(case=cases(torch.float64))
@EXAMPLES
def test_the_gradient_of_the_log_partition_is_the_marginals(case):
    emissions = case.emissions.requires_grad_()
    case.crf.log_partition(emissions, case.lengths).sum().backward()
    assert_close(emissions.grad, case.crf.marginals(emissions, case.lengths))
    pairs = case.crf.pair_marginals(emissions, case.lengths).sum((0, 1))
    assert_close(case.crf.transitions.grad, pairs)


@given(case=cases(torch.float32))
@EXAMPLES
def test_padding_has_gradient_zero_whatever_it_holds(case):
    results = []
    for rubbish, label in [(torch.nan, -100), (0.0, 0), (1e30, -1), (-torch.inf, 99)]:
        emissions = case.emissions.masked_fill(~case.mask[:, :, None], rubbish).requires_grad_()
        labels = case.labels.masked_fill(~case.mask, label)
        case.crf.zero_grad()
        value = case.crf.log_likelihood(emissions, labels, case.mask)
        value.sum().backward()
        assert (emissions.grad[~case.mask] == 0).all()
        results.append([value.detach(), emissions.grad, *(p.grad for p in scores_of(case.crf))])
    for other in results[1:]:
        for one, two in zip(results[0], other, strict=True):
            assert_close(one, two)


@given(case=cases(torch.float64))
@EXAMPLES
def test_each_sentence_gets_its_own_weight(case):
    weights = torch.randn(len(case.lengths), generator=case.generator, dtype=torch.float64)
    emissions = case.emissions.requires_grad_()
    value = case.crf.log_likelihood(emissions, case.labels, case.lengths)
    together = torch.autograd.grad((value * weights).sum(), [emissions, *scores_of(case.crf)])
    expected = [torch.zeros_like(part) for part in together]
    for index, weight in enumerate(weights):
        value = case.crf.log_likelihood(emissions, case.labels, case.lengths)
        parts = torch.autograd.grad(value[index], [emissions, *scores_of(case.crf)])
        for total, part in zip(expected, parts, strict=True):
            total += weight * part
    assert_close(list(together), expected)


def test_gradients_flow_only_where_they_are_wanted():
    crf = CRF(3)
    emissions = torch.randn(1, 4, 3, requires_grad=True)
    labels = torch.zeros(1, 4, dtype=torch.long)
    crf.requires_grad_(False)
    crf.log_likelihood(emissions, labels).sum().backward()
    assert emissions.grad is not None
    crf.requires_grad_(True)
    crf.log_likelihood(emissions.detach(), labels).sum().backward()
    assert all(part.grad.abs().sum() > 0 for part in scores_of(crf))
    for answer in (crf.marginals(emissions), crf.entropy(emissions), crf.viterbi(emissions)[1]):
        assert not answer.requires_grad


def test_impossible_annotation_gives_no_nan_in_gradients():
    crf = CRF(2)
    emissions = torch.randn(2, 3, 2, requires_grad=True)
    allowed = allowed_labels(torch.tensor([[0, -1, 1], [0, 0, 0]]), 2)
    allowed[0, 1] = False  # no label at all is left for this token
    value = crf.partial_log_likelihood(emissions, allowed)
    assert value[0] == -math.inf
    assert value[1].isfinite()
    value[1].backward()
    assert emissions.grad.isfinite().all()
    assert (emissions.grad[0] == 0).all()
    emissions.grad = None
    crf.log_partition(emissions, allowed=allowed)[0].backward()
    assert (emissions.grad == 0).all()
    assert (crf.marginals(emissions, allowed=allowed)[0] == 0).all()


def test_nan_in_a_real_token_is_not_hidden():
    crf = CRF(3)
    emissions = torch.zeros(2, 3, 3)
    emissions[0, 1, 2] = torch.nan
    value = crf.log_likelihood(emissions, torch.zeros(2, 3, dtype=torch.long))
    assert value.isnan().tolist() == [True, False]
