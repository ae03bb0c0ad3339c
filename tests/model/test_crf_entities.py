"""Entities by their own probability, against a search through all sets of entities."""

from itertools import combinations, pairwise

import pytest
import torch

from bilstm_crf.corpus.labels import (
    Span,
    allowed_transitions,
    invalid_positions,
    labels_to_spans,
    model_labels,
    spans_to_labels,
)
from bilstm_crf.model.crf import CRF, EntityLabels
from bilstm_crf.prediction.entity_patterns import EntityPatterns
from bilstm_crf.prediction.posterior import asked

SCHEMES = ("BIO", "BIOES", "BMES", "BILOU")


def make_crf(scheme: str, mode: str, seed: int) -> tuple[CRF, list[str]]:
    torch.manual_seed(seed)
    labels = model_labels(["LOC", "PER"], scheme)
    crf = CRF(len(labels)).double()
    crf.set_constraints(allowed_transitions(labels, scheme), mode)
    with torch.no_grad():
        for parameter in crf.parameters():
            parameter.normal_()
    return crf, labels


def best_set(
    crf: CRF, labels: list[str], scheme: str, emissions: torch.Tensor, threshold: float
) -> tuple[float, list[Span]]:
    """Return the entities that exceed the threshold by most together, and by how much."""
    time = len(emissions)
    spans = [
        Span(start, end, kind)
        for start in range(time)
        for end in range(start + 1, time + 1)
        for kind in ("LOC", "PER")
    ]
    patterns = EntityPatterns(labels, scheme)
    distribution = asked(crf.distribution(emissions[None]), emissions.device)
    values = patterns.probabilities(distribution, [(0, s) for s in spans])
    likely = [(s, p) for s, p in zip(spans, values, strict=True) if p > threshold]
    best: tuple[float, list[Span]] = (0.0, [])
    for count in range(1, time + 1):
        for chosen in combinations(sorted(likely, key=lambda one: one[0].start), count):
            apart = all(a.end <= b.start for (a, _), (b, _) in pairwise(chosen))
            value = sum(p - threshold for _, p in chosen)
            if apart and value > best[0]:
                best = value, [span for span, _ in chosen]
    return best


@pytest.mark.parametrize("mode", ["none", "decode"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_chosen_entities_are_the_best_of_all_sets(scheme: str, mode: str) -> None:
    counts = set()
    for seed in range(12):
        crf, labels = make_crf(scheme, mode, seed)
        threshold = (0.05, 0.1, 0.2, 0.6)[seed % 4]
        crf.set_entity_threshold(EntityLabels.of(labels, scheme), threshold)
        emissions = torch.randn(3, 5, len(labels), dtype=torch.float64)
        lengths = torch.tensor([5, 3, 4])
        paths = crf.decode(emissions, lengths).tolist()
        for path, scores, length in zip(paths, emissions, lengths.tolist(), strict=True):
            assert path[length:] == [0] * (5 - length)
            written = [labels[number] for number in path[:length]]
            _, wanted = best_set(crf, labels, scheme, scores[:length], threshold)
            assert labels_to_spans(written, scheme) == wanted
            assert written == spans_to_labels(wanted, length, scheme)
            assert not invalid_positions(written, scheme)
            counts.add(len(wanted))
    assert len(counts) > 2


def test_without_a_threshold_the_best_path_is_decoded() -> None:
    crf, labels = make_crf("BIOES", "decode", 1)
    emissions = torch.randn(4, 6, len(labels), dtype=torch.float64)
    assert torch.equal(crf.decode(emissions), crf.viterbi_paths(emissions)[0])


def test_sure_entities_are_those_of_the_best_path() -> None:
    crf, labels = make_crf("BIO", "decode", 2)
    emissions = 50 * torch.randn(8, 9, len(labels), dtype=torch.float64)
    best = crf.viterbi_paths(emissions)[0]
    crf.set_entity_threshold(EntityLabels.of(labels, "BIO"), 0.5)
    assert torch.equal(crf.decode(emissions), best)


def test_a_lower_threshold_chooses_as_many_tokens_or_more() -> None:
    crf, labels = make_crf("BIOES", "decode", 3)
    emissions = torch.randn(20, 12, len(labels), dtype=torch.float64)
    covered = []
    for threshold in (0.01, 0.1, 0.3, 0.9):
        crf.set_entity_threshold(EntityLabels.of(labels, "BIOES"), threshold)
        covered.append(int((crf.decode(emissions) != 0).sum()))
    assert covered == sorted(covered, reverse=True)
    assert covered[0] > covered[-1]


@pytest.mark.parametrize("scheme", ["IO", "IOB1"])
def test_schemes_that_do_not_mark_beginnings_are_refused(scheme: str) -> None:
    with pytest.raises(ValueError, match="does not say whether an entity begins"):
        EntityLabels.of(model_labels(["PER"], scheme), scheme)


def test_empty_and_single_token_sentences() -> None:
    crf, labels = make_crf("BIOES", "decode", 4)
    crf.set_entity_threshold(EntityLabels.of(labels, "BIOES"), 0.1)
    emissions = torch.randn(3, 1, len(labels), dtype=torch.float64)
    paths = crf.decode(emissions, torch.tensor([1, 0, 1]))
    assert paths.shape == (3, 1)
    assert paths[1, 0] == 0
    assert crf.decode(emissions[:, :0]).shape == (3, 0)
