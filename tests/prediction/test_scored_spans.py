"""Entity probabilities against the sum over every label path, written out."""

import math
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
import torch

from bilstm_crf.corpus.batches import make_batch
from bilstm_crf.corpus.encoding import encode
from bilstm_crf.corpus.labels import is_transition_allowed, labels_to_spans, model_labels
from bilstm_crf.corpus.sentence import Sentence, Span
from bilstm_crf.corpus.vocabulary import Vocabularies, Vocabulary, WordVocabulary
from bilstm_crf.errors import DataError
from bilstm_crf.model.tagger import ModelSection
from bilstm_crf.prediction.analysis import analyse
from bilstm_crf.prediction.model_file import TrainedModel
from bilstm_crf.prediction.predictor import Tagger
from bilstm_crf.prediction.scored_spans import score_spans
from bilstm_crf.training.preparation import build_network, form_table

SENTENCES = [
    Sentence(("a", "b", "a")),
    Sentence(()),
    Sentence(("b", "c", "a", "a")),
    Sentence(("c",)),
]


def make_tagger(scheme: str, head: str = "crf", temperature: float = 1.0, types="A") -> Tagger:
    torch.manual_seed(5)
    section = ModelSection.model_validate(
        {"word_embeddings": {"size": 8}, "lstm": {"hidden_size": 6}, "head": head}
    )
    vocabularies = Vocabularies(
        WordVocabulary(("a", "b")), Vocabulary("ab"), tuple(model_labels(types, scheme)), {}
    )
    network = build_network(section, vocabularies, scheme)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(3.0)
    weights = network.state_dict()
    model = TrainedModel(
        section, vocabularies, scheme, "BIO", dict(weights), temperature=temperature
    )
    return Tagger(model)


@torch.no_grad()
def all_paths(tagger: Tagger, sentence: Sentence) -> dict[tuple[str, ...], float]:
    """Return the probability of every label path, by its definition."""
    model, names = tagger.model, tagger.labels
    corpus = encode([sentence])
    forms = form_table(model.section, model.vocabularies)
    forms.extend(corpus.forms)
    batch = make_batch(corpus, forms, np.array([0]), with_labels=False)
    emissions = tagger.network.emissions(batch)[0].double()
    head, length = tagger.network.head, len(sentence)
    scores = {}
    for path in product(range(len(names)), repeat=length):
        score = sum(emissions[t, label] for t, label in enumerate(path))
        if model.section.head == "crf":
            labels = [None, *(names[i] for i in path), None]
            if not all(
                is_transition_allowed(model.scheme, one, two) for one, two in pairwise(labels)
            ):
                continue
            score += head.start_transitions[path[0]] + head.end_transitions[path[-1]]
            score += sum(head.transitions[i, j] for i, j in pairwise(path))
        scores[tuple(names[i] for i in path)] = float(score) / model.temperature
    total = math.log(math.fsum(map(math.exp, scores.values())))
    return {path: math.exp(score - total) for path, score in scores.items()}


@pytest.mark.parametrize(
    ("scheme", "temperature"), [("BIOES", 1.0), ("BIOES", 2.5), ("BIO", 1.0), ("IOB1", 1.0)]
)
def test_entity_probability_is_the_sum_over_all_paths_that_have_it(scheme: str, temperature: float):
    tagger = make_tagger(scheme, temperature=temperature)
    every = [
        [Span(i, j, "A") for i in range(len(s)) for j in range(i + 1, len(s) + 1)]
        for s in SENTENCES
    ]
    for number in range(max(map(len, every))):
        asked = [row[number : number + 1] for row in every]
        (found,) = score_spans(tagger, SENTENCES, asked)
        for sentence, spans, scored in zip(SENTENCES, asked, found, strict=True):
            if not spans:
                continue
            paths = all_paths(tagger, sentence)
            expected = sum(p for path, p in paths.items() if spans[0] in labels_to_spans(path))
            assert scored.spans[0].probability == pytest.approx(expected, abs=1e-5)
            alone = sum(p for path, p in paths.items() if labels_to_spans(path) == spans)
            assert scored.path_probability == pytest.approx(alone, abs=1e-5)


def test_softmax_head_multiplies_token_probabilities():
    tagger = make_tagger("BIOES", head="softmax")
    spans = [[Span(0, 2, "A")], [], [Span(3, 4, "A")], [Span(0, 1, "A")]]
    (found,) = score_spans(tagger, SENTENCES, spans)
    paths = all_paths(tagger, SENTENCES[0])
    goes_on = ("I-A", "E-A")
    expected = sum(
        p for path, p in paths.items() if path[:2] == ("B-A", "E-A") and path[2] not in goes_on
    )
    assert found[0].spans[0].probability == pytest.approx(expected, abs=1e-5)
    assert found[0].path_probability == pytest.approx(paths["B-A", "E-A", "O"], abs=1e-5)


def test_a_type_the_model_does_not_know_has_no_probability():
    tagger = make_tagger("BIOES")
    spans = [[Span(0, 1, "NEW"), Span(1, 2, "A")], [], [], []]
    (found,) = score_spans(tagger, SENTENCES, spans)
    assert found[0].spans[0].probability == 0.0
    assert 0.0 < found[0].spans[1].probability < 1.0
    assert found[0].path_probability is None
    assert found[1].path_probability == 1.0


def test_analysis_holds_gold_prediction_and_probabilities():
    tagger = make_tagger("BIOES")
    labels = [("B-A", "O", "O"), (), ("O", "B-NEW", "I-NEW", "O"), ("O",)]
    sentences = [
        replace(one, labels=row, path="f", lines=range(3, 3 + len(one)))
        for one, row in zip(SENTENCES, labels, strict=True)
    ]
    found = analyse(tagger, sentences, split="test", training_entities={"a": ("A",)})
    assert (found.scheme, found.split) == ("BIO", "test")
    assert [record.gold for record in found.sentences] == labels
    assert [list(r.predicted) for r in found.sentences] == tagger.predict_tokens(
        [s.tokens for s in sentences]
    )
    assert found.sentences[0].where == "f:3"
    assert 0 < found.sentences[0].gold_spans[0].probability < 1
    assert found.sentences[2].gold_path_probability is None
    for record in found.sentences:
        assert record.path_probability >= (record.gold_path_probability or 0.0) - 1e-6
    assert found.transitions is not None
    assert found.transitions.labels == tagger.labels
    assert analyse(make_tagger("BIOES", "softmax"), sentences, split="x").transitions is None


def test_analysis_follows_the_scheme_of_the_file():
    tagger = make_tagger("BIOES")
    sentence = Sentence(("a", "b"), labels=("B-A", "E-A"))
    assert analyse(tagger, [sentence], split="x").scheme == "BIOES"


def test_analysis_needs_labelled_sentences():
    tagger = make_tagger("BIOES")
    assert analyse(tagger, [], split="test").sentences == ()
    with pytest.raises(DataError, match="f:2: no labels"):
        analyse(tagger, [Sentence(("a",), path="f", lines=(2,))], split="test")
