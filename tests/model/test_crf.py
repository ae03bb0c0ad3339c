"""Every question to the CRF against the enumeration of all paths."""

import math

import pytest
import torch
from crf_cases import Case, cases, random_crf
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from bilstm_crf.model.crf import CRF, allowed_labels
from bilstm_crf.model.crf_arrays import as_tensor, native
from bilstm_crf.model.crf_inputs import checked_mask

EXAMPLES = settings(max_examples=100, deadline=None)
DTYPES = [torch.float32, torch.float64]


def check_log_partition(case: Case) -> None:
    expected = [reference.log_partition for _, _, reference in case.sentences()]
    assert_close(
        case.crf.log_partition(case.emissions, case.mask).tolist(), expected, **case.tolerance
    )


def check_restricted_log_partition(case: Case) -> None:
    got = case.crf.log_partition(case.emissions, case.mask, allowed=case.allowed)
    for index, _, full in case.sentences():
        reference = case.reference(index, restricted=True)
        assert_close(got[index].item(), reference.log_partition, **case.tolerance)
        assert reference.log_partition <= full.log_partition + 1e-12


def check_path_score(case: Case) -> None:
    got = case.crf.path_score(case.emissions, case.labels, case.lengths)
    expected = [reference.path_score(case.path(i)) for i, _, reference in case.sentences()]
    assert_close(got.tolist(), expected, **case.tolerance)


def check_log_likelihood(case: Case) -> None:
    got = case.crf.log_likelihood(case.emissions, case.labels, case.lengths)
    expected = [reference.log_likelihood(case.path(i)) for i, _, reference in case.sentences()]
    assert_close(got.tolist(), expected, **case.tolerance)


def check_partial_log_likelihood(case: Case) -> None:
    got = case.crf.partial_log_likelihood(case.emissions, case.allowed, case.lengths)
    for index, _, reference in case.sentences():
        restricted = case.reference(index, restricted=True)
        expected = restricted.log_partition - reference.log_partition
        assert_close(got[index].item(), expected, **case.tolerance)


def check_viterbi(case: Case) -> None:
    paths, scores = case.crf.viterbi(case.emissions, case.mask)
    for index, length, reference in case.sentences():
        assert len(paths[index]) == length
        assert_close(scores[index].item(), reference.viterbi(), **case.tolerance)
        # The path itself has that score; which of several best ones it is, is left open.
        score = reference.path_score(tuple(paths[index]))
        assert_close(score, reference.viterbi(), **case.tolerance)


def check_restricted_viterbi(case: Case) -> None:
    paths, scores = case.crf.viterbi(case.emissions, case.lengths, allowed=case.allowed)
    for index, _, _ in case.sentences():
        reference = case.reference(index, restricted=True)
        assert_close(reference.scores[tuple(paths[index])], reference.viterbi(), **case.tolerance)
        assert_close(scores[index].item(), reference.viterbi(), **case.tolerance)


def check_k_best(case: Case) -> None:
    k = 4
    paths, scores = case.crf.k_best(case.emissions, k, case.lengths)
    for index, _, reference in case.sentences():
        expected = reference.k_best(k)
        found = [tuple(path) for path in paths[index]]
        assert len(set(found)) == len(found) == len(expected)
        assert_close([reference.scores[path] for path in found], expected, **case.tolerance)
        assert_close(scores[index, : len(found)].tolist(), expected, **case.tolerance)
        assert (scores[index, len(found) :] == -math.inf).all()


def check_marginals(case: Case) -> None:
    got = case.crf.marginals(case.emissions, case.mask)
    assert (got[~case.mask] == 0).all()
    for index, length, reference in case.sentences():
        assert_close(got[index, :length].tolist(), reference.marginals(), **case.tolerance)


def check_pair_marginals(case: Case) -> None:
    got = case.crf.pair_marginals(case.emissions, case.mask)
    for index, length, reference in case.sentences():
        pairs = max(length - 1, 0)
        assert_close(got[index, :pairs].tolist(), reference.pair_marginals(), **case.tolerance)
        assert (got[index, pairs:] == 0).all()


def check_span_probability(case: Case) -> None:
    spans = [
        (index, start, positions)
        for index, length, _ in case.sentences()
        for start in range(length)
        for positions in range(1, length - start + 2)  # up to one behind the end
    ]
    if not spans:
        return
    sentences, starts, _ = torch.tensor(spans).T
    num_labels = case.crf.num_labels
    longest = max(positions for _, _, positions in spans)
    allowed = torch.rand(len(spans), longest, num_labels, generator=case.generator) < 0.6
    for row, (_, _, positions) in zip(allowed, spans, strict=True):
        row[positions:] = True
    got = case.crf.span_probability(case.emissions, sentences, starts, allowed, case.mask)
    expected = [
        case.reference(index).span_probability(start, row.tolist())
        for (index, start, _), row in zip(spans, allowed, strict=True)
    ]
    assert_close(got.tolist(), expected, **case.tolerance)


def check_entropy(case: Case) -> None:
    expected = [reference.entropy() for _, _, reference in case.sentences()]
    assert_close(case.crf.entropy(case.emissions, case.mask).tolist(), expected, **case.tolerance)


CHECKS = [value for name, value in globals().copy().items() if name.startswith("check_")]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__[6:])
@given(data=st.data())
@EXAMPLES
def test_agrees_with_the_enumeration_of_all_paths(check, dtype, data):
    check(data.draw(cases(dtype)))


@given(case=cases(torch.float64))
@EXAMPLES
def test_all_paths_together_have_probability_one(case):
    for index, length, reference in case.sentences():
        paths = torch.tensor(list(reference.scores)).long().view(len(reference.scores), length)
        emissions = case.emissions[index, :length].expand(len(paths), -1, -1)
        total = case.crf.log_likelihood(emissions, paths).exp().sum()
        assert_close(total.item(), 1.0)


@given(case=cases(torch.float64))
@EXAMPLES
def test_a_batch_is_its_sentences_one_by_one(case):
    together = case.crf.log_likelihood(case.emissions, case.labels, case.lengths)
    paths, _ = case.crf.viterbi(case.emissions, case.lengths)
    for index, length, _ in case.sentences():
        emissions = case.emissions[None, index, :length]
        alone = case.crf.log_likelihood(emissions, case.labels[None, index, :length])
        assert_close(alone[0], together[index])
        assert case.crf.viterbi(emissions)[0] == [paths[index]]


def test_large_steps_decode_like_small_ones():
    generator = torch.Generator().manual_seed(9)
    crf = random_crf(20, generator)
    emissions = torch.randn(40, 7, 20, generator=generator, dtype=torch.float64)
    lengths = torch.randint(8, (40,), generator=generator)
    paths, scores = crf.viterbi(emissions, lengths)
    for row, length in enumerate(lengths.tolist()):
        alone, score = crf.viterbi(emissions[row : row + 1, :length])
        assert alone == paths[row : row + 1]
        assert_close(score[0], scores[row])


def test_samples_come_as_often_as_they_are_probable():
    generator = torch.Generator().manual_seed(3)
    crf = random_crf(2, generator)
    emissions = torch.randn(2, 3, 2, generator=generator, dtype=torch.float64)
    lengths = torch.tensor([3, 1])
    samples = crf.sample(emissions, lengths, num_samples=20_000, generator=generator)
    case = Case(crf, emissions, lengths, samples[0], torch.ones(2, 3, 2).bool(), generator)
    assert (samples[:, 1, 1:] == 0).all()
    for index, length, reference in case.sentences():
        drawn = samples[:, index, :length]
        for path in reference.scores:
            share = (drawn == torch.tensor(path)).all(1).double().mean().item()
            assert share == pytest.approx(reference.probability(path), abs=0.015)


def test_the_same_generator_state_draws_the_same_samples():
    crf, emissions = CRF(3), torch.zeros(2, 6, 3)
    draws = [
        crf.sample(emissions, num_samples=5, generator=torch.Generator().manual_seed(1))
        for _ in range(2)
    ]
    assert (draws[0] == draws[1]).all()
    assert draws[0].shape == (5, 2, 6)


@given(case=cases(torch.float64))
@EXAMPLES
def test_full_annotation_is_the_ordinary_loss_and_none_costs_nothing(case):
    full = allowed_labels(case.labels, case.crf.num_labels)
    ordinary = case.crf.log_likelihood(case.emissions, case.labels, case.mask)
    partial = case.crf.partial_log_likelihood(case.emissions, full, case.mask)
    assert_close(partial, ordinary)
    unknown = allowed_labels(torch.full_like(case.labels, -1), case.crf.num_labels)
    nothing = case.crf.partial_log_likelihood(case.emissions, unknown, case.mask)
    assert_close(nothing, torch.zeros_like(nothing))


def test_gaps_in_labels_allow_every_label():
    allowed = allowed_labels(torch.tensor([[2, -1, 0]]), 3)
    assert allowed.tolist() == [[[False, False, True], [True, True, True], [True, False, False]]]
    assert allowed_labels(torch.tensor([[9, 1]]), 2, unknown=9)[0, 0].all()


def test_fixed_labels_are_kept_and_the_rest_is_best_around_them():
    crf = CRF(2)
    with torch.no_grad():
        crf.transitions.copy_(torch.tensor([[1.0, -1.0], [-1.0, 1.0]]))
    emissions = torch.tensor([[[0.5, 0.0], [0.0, 0.0], [0.5, 0.0]]])
    assert crf.viterbi(emissions)[0] == [[0, 0, 0]]
    fixed = allowed_labels(torch.tensor([[-1, 1, -1]]), 2)
    assert crf.viterbi(emissions, allowed=fixed)[0] == [[1, 1, 1]]


@pytest.mark.parametrize("lengths", [[], [0], [0, 0], [1], [0, 1, 4]])
@pytest.mark.parametrize("num_labels", [1, 3])
def test_empty_batches_empty_sentences_and_single_labels(lengths, num_labels):
    crf = CRF(num_labels)
    time = max(lengths, default=2)
    emissions = torch.randn(len(lengths), time, num_labels, requires_grad=True)
    labels = torch.zeros(len(lengths), time, dtype=torch.long)
    lengths = torch.tensor(lengths, dtype=torch.long)
    value = crf.log_likelihood(emissions, labels, lengths)
    value.sum().backward()
    assert value.shape == lengths.shape
    assert emissions.grad.isfinite().all()
    empty = lengths == 0
    assert (value[empty] == 0).all()
    if num_labels == 1:
        assert_close(value, torch.zeros_like(value))
    paths, scores = crf.viterbi(emissions, lengths)
    assert [len(path) for path in paths] == lengths.tolist()
    assert (scores[empty] == 0).all()
    assert crf.marginals(emissions, lengths).shape == emissions.shape
    assert crf.pair_marginals(emissions, lengths).shape[:2] == (len(lengths), max(time - 1, 0))
    assert (crf.entropy(emissions, lengths)[empty] == 0).all()
    assert crf.sample(emissions, lengths).shape == (1, len(lengths), time)
    assert len(crf.k_best(emissions, 2, lengths)[0]) == len(lengths)


def test_reductions_by_name():
    generator = torch.Generator().manual_seed(0)
    crf = random_crf(3, generator)
    emissions = torch.randn(2, 4, 3, generator=generator, dtype=torch.float64)
    labels, lengths = torch.randint(3, (2, 4), generator=generator), torch.tensor([4, 1])
    each = crf.log_likelihood(emissions, labels, lengths)
    assert_close(crf(emissions, labels, lengths, reduction="sum"), each.sum())
    assert_close(crf(emissions, labels, lengths, reduction="mean"), each.mean())
    assert_close(crf(emissions, labels, lengths, reduction="token_mean"), each.sum() / 5)
    whole = crf(emissions, labels, reduction="token_mean")
    assert_close(whole, crf(emissions, labels).sum() / 8)
    with pytest.raises(ValueError, match="reduction: expected none, sum, mean or token_mean"):
        crf(emissions, labels, reduction="median")


WRONG = {
    "labels of emissions": (r"\(batch, time, 3\)", {"emissions": torch.zeros(2, 4, 2)}),
    "axes of emissions": (r"\(batch, time, 3\)", {"emissions": torch.zeros(4, 3)}),
    "type of emissions": ("floating", {"emissions": torch.zeros(2, 4, 3, dtype=torch.long)}),
    "shape of labels": (r"labels: .*\(2, 4\), got", {"labels": torch.zeros(4, 2).long()}),
    "shape of the mask": (r"mask: .*\(2, 4\), got", {"mask": torch.ones(2, 3).bool()}),
    "type of the mask": ("booleans", {"mask": torch.ones(2, 4)}),
    "a gap": ("padding must come last", {"mask": torch.tensor([[1, 0, 1, 0]] * 2).bool()}),
    "too long": (r"expected 0 to 4, got \[5, 1\]", {"mask": torch.tensor([5, 1])}),
    "negative": (r"expected 0 to 4", {"mask": torch.tensor([-1, 1])}),
}


@pytest.mark.parametrize(("message", "wrong"), WRONG.values(), ids=WRONG.keys())
def test_inputs_that_do_not_fit_are_refused(message, wrong):
    right = {"emissions": torch.zeros(2, 4, 3), "labels": torch.zeros(2, 4).long(), "mask": None}
    with pytest.raises(ValueError, match=message):
        CRF(3).log_likelihood(**(right | wrong))


def test_other_wrong_arguments_are_refused():
    crf, emissions = CRF(3), torch.zeros(2, 4, 3)
    with pytest.raises(ValueError, match=r"allowed: expected shape \(2, 4, 3\), got \(2, 4\)"):
        crf.viterbi(emissions, allowed=torch.ones(2, 4).bool())
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        crf.k_best(emissions, 0)
    with pytest.raises(ValueError, match="at least 1 label, got 0"):
        CRF(0)
    with pytest.raises(RuntimeError, match="out of bounds"):
        crf.log_likelihood(emissions, torch.full((2, 4), 3))


def test_checks_do_not_look_at_values_on_a_device():
    # Looking would make the host wait; tensors on "meta" have nothing to look at.
    mask = torch.ones(2, 4, dtype=torch.bool, device="meta")
    assert checked_mask(torch.empty(2, 4, 3, device="meta"), mask, 3) is mask
    lengths = torch.ones(2, dtype=torch.long, device="meta")
    assert checked_mask(torch.empty(2, 4, 3, device="meta"), lengths, 3).shape == (2, 4)
    assert native(mask) == (torch, [mask])
    assert as_tensor(mask) is mask


def test_the_layer_says_what_it_is():
    assert repr(CRF(7)) == "CRF(num_labels=7, constraints='none')"
    assert {name: tuple(value.shape) for name, value in CRF(2).state_dict().items()} == {
        "start_transitions": (2,),
        "transitions": (2, 2),
        "end_transitions": (2,),
    }
