"""A fitted temperature makes probabilities mean what they say."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from random_models import random_model

from bilstm_crf.corpus.labels import convert_labels
from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.errors import DataError
from bilstm_crf.prediction.calibration import _minimum, fit_temperature
from bilstm_crf.prediction.posterior import TemperedHead
from bilstm_crf.prediction.predictor import Tagger


def drawn_from(tagger: Tagger, count: int) -> list[Sentence]:
    """Return sentences whose labels are drawn from the model's own distribution."""
    rng = np.random.default_rng(0)
    words = ["Mira", "Holt", "the", "sang", "x", "Norvale", "rain"]
    sentences = [Sentence(tuple(rng.choice(words, 3))) for _ in range(count)]
    tempered = TemperedHead(tagger.network.head, tagger.model.temperature)
    generator = torch.Generator().manual_seed(0)
    for batch in tagger.emissions(sentences):
        scores = batch.emissions / tempered.temperature
        (paths,) = tempered.head.sample(scores, batch.mask, generator=generator)
        for number, path in zip(batch.sentences.tolist(), paths.tolist(), strict=True):
            drawn = convert_labels([tagger.labels[i] for i in path], tagger.model.scheme, "BIO")
            sentences[number] = replace(sentences[number], labels=tuple(drawn))
    return sentences


def test_finds_the_temperature_the_labels_were_drawn_at():
    truth = random_model(temperature=3.0)
    sentences = drawn_from(Tagger(truth), 2000)
    found = fit_temperature(Tagger(replace(truth, temperature=1.0)), sentences)
    assert found.temperature == pytest.approx(3.0, rel=0.15)
    assert found.after.expected_error < found.before.expected_error
    assert found.after.count == found.before.count > 500


def test_a_temperature_changes_no_label_and_flattens_probabilities():
    sharp, flat = (Tagger(random_model(temperature=value)) for value in (1.0, 4.0))
    text = ["Mira Holt sang in Norvale. The rain, Holt."]
    (before,), (after,) = (one.predict(text, probabilities=True) for one in (sharp, flat))
    assert [(s.start, s.end, s.type) for s in before] == [(s.start, s.end, s.type) for s in after]
    assert sum(s.probability for s in after) < sum(s.probability for s in before)


def test_nothing_to_calibrate_on():
    tagger = Tagger(random_model(crf={"outside_bias": 1000.0}))
    with pytest.raises(DataError, match="no entity is predicted"):
        fit_temperature(tagger, [Sentence(("Mira",), ("B-PER",))])
    with pytest.raises(DataError, match=r"dev:4: a sentence without labels"):
        fit_temperature(tagger, [Sentence(("Mira",), None, "dev", (4,))])


def test_the_search_finds_a_valley():
    assert _minimum(lambda x: (x - 0.7) ** 2, -3.0, 3.0) == pytest.approx(0.7, abs=1e-3)
    assert _minimum(lambda x: math.exp(x), -3.0, 3.0) == pytest.approx(-3.0, abs=1e-2)
