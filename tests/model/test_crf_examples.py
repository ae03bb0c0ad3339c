"""Examples worked by hand or by other means, number by number."""

import itertools
import math

import numpy as np
import pytest
import torch
from reference import log_sum_exp
from torch.testing import assert_close

from bilstm_crf.model import crf_decoding
from bilstm_crf.model.crf import CRF
from bilstm_crf.model.crf_lattice import build_lattice
from bilstm_crf.model.crf_log_messages import log_messages
from bilstm_crf.model.crf_weight_messages import weight_messages


def crf_of(start, transitions, end, dtype=torch.float32) -> CRF:
    crf = CRF(len(start)).to(dtype)
    with torch.no_grad():
        crf.start_transitions.copy_(torch.tensor(start))
        crf.transitions.copy_(torch.tensor(transitions))
        crf.end_transitions.copy_(torch.tensor(end))
    return crf


# --- two labels, three words ------------------------------------------------------------------


def test_one_viterbi_step_by_hand():
    # Candidates from (row) and to (column) of two steps, one in each of the decoder's halves.
    candidates = np.array([[[0.2, 0.3], [0.5, 0.4]], [[0.6, 0.9], [0.8, 0.7]]])
    nothing = np.zeros((2, 2, 2, 1))
    best = crf_decoding._sweep(np, nothing, candidates[:, :, :, None])
    assert best[1, :, :, 0].tolist() == [[0.5, 0.4], [0.8, 0.9]]
    back_pointers = []
    for label in (0, 1):
        into = np.array([label])
        path = crf_decoding._trace(np, best, candidates, into, into)
        assert path[1, :, 0].tolist() == [label, label]
        back_pointers.append(path[0, :, 0].tolist())
    assert back_pointers == [[1, 1], [1, 0]]  # per label reached: in the first step, the second


def test_a_decoder_with_the_same_back_pointers_takes_the_same_path():
    # Into the second word both labels are best reached from the second label; into the third
    # one the first label from the second and the second from the first: l2, l1, l2.
    crf = crf_of([0.0, 0.0], [[0.0, 1.0], [0.5, 0.0]], [0.0, 0.0])
    paths, scores = crf.viterbi(torch.tensor([[[0.0, 2.0], [0.0, 0.7], [0.0, 0.1]]]))
    assert paths == [[1, 0, 1]]
    assert_close(scores, torch.tensor([2.0 + 0.5 + 0.0 + 1.0 + 0.1]))


def test_the_recursion_sums_all_paths_so_far():
    crf = crf_of([0.3, -0.2], [[0.2, -0.4], [0.7, 0.1]], [0.0, 0.5], torch.float64)
    emissions = torch.tensor([[[0.1, 0.9], [-0.3, 0.4], [0.8, -0.6]]], dtype=torch.float64)
    start, transitions, _ = (part.tolist() for part in crf.parameters())
    lattice = build_lattice(emissions, *crf.parameters())
    logs, weights = log_messages(lattice), weight_messages(lattice)
    for length in (1, 2, 3):
        sums = []
        for last in (0, 1):
            paths = [p for p in itertools.product((0, 1), repeat=length) if p[-1] == last]
            scores = [
                start[path[0]]
                + sum(emissions[0, t, label].item() for t, label in enumerate(path))
                + sum(transitions[one][two] for one, two in itertools.pairwise(path))
                for path in paths
            ]
            sums.append(log_sum_exp(scores))
        assert_close(logs.alpha[length, 0, :2].tolist(), sums)
        assert_close(weights.alpha[length, 0, :2].log().tolist(), sums)
    every = [
        crf.path_score(emissions, torch.tensor([path])).item()
        for path in itertools.product((0, 1), repeat=3)
    ]
    assert len(every) == 8
    assert_close(crf.log_partition(emissions).item(), log_sum_exp(every))


# --- five labels, five words ------------------------------------------------------------------


def test_a_path_has_one_emission_per_word_and_one_transition_more():
    # B-Person I-Person O B-Organization O, of B-Person, I-Person, B-Organization,
    # I-Organization, O.
    path = [0, 1, 4, 2, 4]
    generator = torch.Generator().manual_seed(11)
    emissions = torch.randn(1, 5, 5, generator=generator)
    crf = crf_of(*(torch.randn(s, generator=generator).tolist() for s in [(5,), (5, 5), (5,)]))
    words = [emissions[0, word, label].item() for word, label in enumerate(path)]
    between = [crf.transitions[i, j].item() for i, j in itertools.pairwise(path)]
    between = [crf.start_transitions[0].item(), *between, crf.end_transitions[4].item()]
    assert (len(words), len(between)) == (5, 6)
    score = crf.path_score(emissions, torch.tensor([path])).item()
    assert score == pytest.approx(sum(words) + sum(between), abs=1e-5)


# --- three labels, five words, the start and the end as two more labels ----------------------

EMISSIONS = [
    [0.1074, 0.5337, -0.7819],
    [0.8806, 0.5112, -0.3205],
    [0.5401, -2.2218, -0.8034],
    [0.6645, 0.6061, -1.4834],
    [1.2066, 0.1034, 0.3215],
]
GOLD = [1, 1, 0, 2, 0]


def padded_matrix_answers(start, transitions, end) -> tuple[float, list[int]]:
    """Return loss and best path of a chain whose ends are labels that cost 1000 elsewhere."""
    first, last, never = 3, 4, -1000.0
    scores = torch.full((5, 5), never, dtype=torch.float64)
    scores[:3, :3], scores[first, :3], scores[:3, last] = transitions, start, end
    words = [torch.tensor([*row, never, never], dtype=torch.float64) for row in EMISSIONS]
    total = torch.full((5,), never, dtype=torch.float64)
    total[first] = 0.0
    best, pointers = total, []
    for word in words:
        total = torch.logsumexp(total[:, None] + scores, 0) + word
        reached, pointer = (best[:, None] + scores).max(0)
        best, pointers = reached + word, [*pointers, pointer]
    log_partition = torch.logsumexp(total + scores[:, last], 0)
    label = int((best + scores[:, last]).argmax())
    path = [label]
    for pointer in reversed(pointers[1:]):
        path.insert(0, int(pointer[path[0]]))
    states = [first, *GOLD, last]
    gold = sum(scores[i, j] for i, j in itertools.pairwise(states))
    gold = gold + sum(word[label] for word, label in zip(words, GOLD, strict=True))
    return float(log_partition - gold), path


@pytest.mark.parametrize("seed", range(5))
def test_ends_as_labels_of_their_own_give_the_same_loss_and_path(seed):
    generator = torch.Generator().manual_seed(seed)
    scores = [torch.randn(shape, generator=generator) for shape in [(3,), (3, 3), (3,)]]
    crf = crf_of(*(part.tolist() for part in scores))
    emissions = torch.tensor([EMISSIONS])
    loss, path = padded_matrix_answers(*scores)
    assert -crf.log_likelihood(emissions, torch.tensor([GOLD])).item() == pytest.approx(loss, 1e-5)
    assert crf.viterbi(emissions)[0] == [path]


# --- one sentence whose 81 paths were enumerated ----------------------------------------------

START, END = [0.3, 0.2, -1.5], [0.1, -0.4, 0.25]
TRANSITIONS = [[0.5, -0.3, -2.0], [0.1, -0.7, 1.2], [0.4, -0.2, 0.6]]
SENTENCE = torch.tensor([[[1.0, -0.5, 0.3], [0.2, 0.9, -1.1], [-0.4, 0.6, 1.5], [0.8, -1.2, 0.1]]])
LABELS = torch.tensor([[1, 2, 2, 0]])


def test_core_numbers():
    crf = crf_of(START, TRANSITIONS, END)
    assert crf.log_partition(SENTENCE).item() == pytest.approx(7.0158444689, abs=1e-5)
    assert crf.path_score(SENTENCE, LABELS).item() == pytest.approx(3.2, abs=1e-5)
    assert -crf.log_likelihood(SENTENCE, LABELS).item() == pytest.approx(3.8158444689, abs=1e-5)
    paths, scores = crf.viterbi(SENTENCE)
    assert paths == [[0, 1, 2, 0]]
    assert scores.item() == pytest.approx(5.9, abs=1e-5)


def test_core_gradients():
    crf = crf_of(START, TRANSITIONS, END)
    sentence = SENTENCE.clone().requires_grad_()
    (-crf.log_likelihood(sentence, LABELS)).sum().backward()
    marginals = torch.tensor(
        [
            [0.7692754490, 0.1527571195, 0.0779674316],
            [0.1517616361, 0.7769676988, 0.0712706651],
            [0.0675507851, 0.1434337194, 0.7890154955],
            [0.5650145799, 0.0245218676, 0.4104635525],
        ]
    )
    observed = torch.nn.functional.one_hot(LABELS[0], 3)
    close = {"atol": 1e-5, "rtol": 0}
    assert_close(crf.marginals(SENTENCE)[0], marginals, **close)
    assert_close(sentence.grad[0], marginals - observed, **close)
    assert_close(sentence.grad.sum(2), torch.zeros(1, 4), **close)
    transitions = [
        [0.2267472788, 0.7175532626, 0.0442873289],
        [0.0927231532, 0.1378030823, -0.1573676978],
        [-0.5351434308, 0.0895669410, -0.6161699181],
    ]
    assert_close(crf.transitions.grad, torch.tensor(transitions), **close)
    assert_close(crf.start_transitions.grad, (marginals - observed)[0], **close)
    assert_close(crf.end_transitions.grad, (marginals - observed)[3], **close)


# --- three sentences of lengths 4, 2 and 1 in one padded batch --------------------------------

ROWS = [
    [
        [0.002, 0.388, -0.356],
        [-1.158, -0.591, -1.289],
        [0.078, 1.742, -0.64],
        [-0.807, 0.637, 0.464],
    ],
    [[0.137, -1.21, -0.038], [0.904, -1.747, -0.595]],
    [[-2.472, -1.676, -2.394]],
]
ROW_LABELS = [[1, 2, 2, 0], [0, 1], [2]]
ROW_LOSSES = [4.9992469668, 4.3514718344, 2.4574835930]
ROW_PATHS = [[1, 2, 1, 2], [0, 0], [1]]


@pytest.mark.parametrize("rubbish", [0.0, 1e4, -1e4, math.nan, math.inf])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
@pytest.mark.parametrize("padding_label", [0, 2, -100])
def test_padding_changes_nothing(rubbish, order, padding_label):
    emissions = torch.full((3, 4, 3), rubbish)
    labels = torch.full((3, 4), padding_label)
    lengths = torch.tensor([len(ROWS[row]) for row in order])
    for place, row in enumerate(order):
        emissions[place, : lengths[place]] = torch.tensor(ROWS[row])
        labels[place, : lengths[place]] = torch.tensor(ROW_LABELS[row])
    emissions.requires_grad_()
    crf = crf_of(START, TRANSITIONS, END)
    losses = -crf.log_likelihood(emissions, labels, lengths)
    assert losses.tolist() == pytest.approx([ROW_LOSSES[row] for row in order], abs=1e-5)
    losses.sum().backward()
    for place, length in enumerate(lengths):
        assert (emissions.grad[place, length:] == 0).all()
    assert crf.viterbi(emissions, lengths)[0] == [ROW_PATHS[row] for row in order]


# --- one possible path ------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_only_path_has_no_loss_and_rounding_makes_none_below_zero(dtype):
    generator = torch.Generator().manual_seed(2)
    emissions = 9 * torch.randn(64, 17, 1, generator=generator, dtype=dtype)
    labels = torch.zeros(64, 17, dtype=torch.long)
    crf = crf_of([0.1], [[0.7]], [-0.3], dtype)
    loss = crf.loss(emissions, labels)
    assert (loss >= 0).all()
    assert_close(loss, torch.zeros_like(loss), rtol=0, atol=1e-6)
    allowed = torch.ones(64, 17, 1, dtype=torch.bool)
    assert (crf.partial_log_likelihood(emissions, allowed) <= 0).all()


def test_a_sure_path_has_no_loss_below_zero():
    generator = torch.Generator().manual_seed(2)
    labels = torch.randint(3, (64, 17), generator=generator)
    emissions = torch.randn(64, 17, 3, generator=generator)
    emissions.scatter_add_(2, labels[:, :, None], torch.full((64, 17, 1), 60.0))
    crf = crf_of(START, TRANSITIONS, END)
    loss = crf.loss(emissions.requires_grad_(), labels)
    assert (loss >= 0).all()
    loss.sum().backward()
    assert_close(emissions.grad, torch.zeros_like(emissions), rtol=0, atol=1e-6)
