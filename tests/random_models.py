"""Models with random weights, as train would write them: prediction needs no trained ones."""

from typing import Any

import torch

from bilstm_crf.corpus.labels import model_labels
from bilstm_crf.corpus.vocabulary import Vocabularies, Vocabulary, WordVocabulary
from bilstm_crf.model.tagger import ModelSection
from bilstm_crf.prediction.model_file import TrainedModel
from bilstm_crf.training.preparation import build_network

WORDS = ("the", "mira", "Holt", "sang", "in", "norvale", ".", "0", "rain", "#")
CHARS = "etaoinshrdlcumwfgypbvkMHNRE.#0日"


def random_model(
    *,
    types: tuple[str, ...] = ("LOC", "PER"),
    scheme: str = "BIOES",
    file_scheme: str = "BIO",
    words: tuple[str, ...] = WORDS,
    columns: dict[str, tuple[str, ...]] | None = None,
    temperature: float = 1.0,
    seed: int = 3,
    stored: tuple[str, ...] = ("oskar", "port"),
    config: dict[str, Any] | None = None,
    **settings: Any,
) -> TrainedModel:
    """Return a model whose scores are spread enough to predict entities here and there.

    Args:
        types: entity types.
        scheme: of the model.
        file_scheme: of the results.
        words: with rows that were trained.
        columns: values of extra columns; column ``name`` stood at number 1, 2, ... in training.
        temperature: of probabilities.
        seed: of the weights.
        stored: words known from vectors only.
        config: entries of ``data`` in its record.
        settings: keys of the section ``model``.
    """
    torch.manual_seed(seed)
    section = ModelSection.model_validate(
        {"word_embeddings": {"size": 8}, "lstm": {"hidden_size": 6}, **settings}
    )
    names = columns or {}
    vocabularies = Vocabularies(
        WordVocabulary(words, stored),
        Vocabulary(CHARS),
        tuple(model_labels(types, scheme)),
        {name: Vocabulary(values) for name, values in names.items()},
    )
    network = build_network(section, vocabularies, scheme)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.mul_(4.0)
        network.word_embeddings.stored.normal_()
        network.projection.bias.zero_()
    data = {"features": {name: number for number, name in enumerate(names, 1)}, **(config or {})}
    return TrainedModel(
        section,
        vocabularies,
        scheme,
        file_scheme,
        dict(network.state_dict()),
        {"config": {"data": data}},
        temperature,
    )
