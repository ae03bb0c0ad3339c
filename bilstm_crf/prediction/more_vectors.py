"""Gives a trained model the vectors of words that it did not keep."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from bilstm_crf.corpus.vocabulary import WordVocabulary
from bilstm_crf.errors import ConfigError
from bilstm_crf.prediction.model_file import TrainedModel
from bilstm_crf.training.preparation import PretrainedVectors

logger = logging.getLogger(__name__)

_STORED = "word_embeddings.stored"


def with_vectors(model: TrainedModel, paths: Sequence[Path]) -> TrainedModel:
    """Return the model with the vectors of further words, for prediction on other text.

    They must be the vectors that the model was trained with; words that it has already keep
    their rows.

    Args:
        model: trained with vectors.
        paths: the vectors files, in the order of the training configuration.

    Raises:
        ConfigError: the size of the vectors is another, or the model has no word vectors.
        DataError: a file cannot be read.
    """
    if _STORED not in model.weights or not model.section.word_embeddings.vectors:
        raise ConfigError("--vectors: the model was trained without word vectors")
    section = model.section.word_embeddings.model_copy(update={"vectors": [str(p) for p in paths]})
    vectors = PretrainedVectors(section, None)
    if vectors.size != section.size:
        raise ConfigError(
            f"--vectors {' '.join(str(path) for path in paths)}: vectors of size {vectors.size}, "
            f"where the model has size {section.size}; give the files that it was trained with"
        )
    words = model.vocabularies.words
    known = {*words.trained, *words.stored}
    added = [word for word in vectors.words if word not in known]
    logger.info("%d words more from the vectors", len(added))
    rows = torch.from_numpy(vectors.matrix(added)).to(model.weights[_STORED].dtype)
    stored = torch.cat([model.weights[_STORED], rows])
    vocabulary = WordVocabulary(words.trained, (*words.stored, *added))
    return replace(
        model,
        vocabularies=replace(model.vocabularies, words=vocabulary),
        weights={**model.weights, _STORED: stored},
    )
