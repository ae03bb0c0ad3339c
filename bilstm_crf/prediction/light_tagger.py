"""A trained model for labels alone, without torch."""

from functools import partial
from pathlib import Path
from typing import Any

from bilstm_crf.corpus.forms import FormTable
from bilstm_crf.model.column_names import column_module
from bilstm_crf.model.flat_sentences import FlatSentences
from bilstm_crf.model.numpy_network import BATCH_SENTENCES, NumpyNetwork
from bilstm_crf.prediction.flat_prediction import FlatPrediction, FlatPredictor
from bilstm_crf.prediction.labeller import Labeller, ModelFacts
from bilstm_crf.prediction.light_model import UnusualModelError, read_light_model
from bilstm_crf.prediction.questions import Questions


class LightTagger(Labeller):
    """Labels like :class:`bilstm_crf.prediction.predictor.Tagger`; knows no probabilities.

    Args:
        path: a model file.
        batch_sentences: most sentences that are decoded at once.
        threads: how many batches are decoded side by side.

    Raises:
        UnusualModelError: the file needs torch's own reader.
    """

    def __init__(self, path: Path, *, batch_sentences: int = BATCH_SENTENCES, threads: int = 1):
        model = read_light_model(path)
        vocabularies, settings = model.vocabularies, model.settings
        if settings["crf"].get("decoding", "viterbi") != "viterbi":
            raise UnusualModelError(f"{path}: entities are chosen by their probabilities")
        if settings.get("members", 1) != 1:
            raise UnusualModelError(f"{path}: several members")
        super().__init__(ModelFacts(vocabularies, model.scheme, model.file_scheme, model.record))
        try:
            network = NumpyNetwork(
                model.weights,
                settings,
                vocabularies.labels,
                model.scheme,
                {name: column_module(name) for name in vocabularies.columns},
                batch_sentences=batch_sentences,
                threads=threads,
            )
        except (KeyError, ValueError, TypeError, IndexError) as error:
            raise UnusualModelError(f"{path}: {type(error).__name__}: {error}") from None
        table = partial(
            FormTable,
            vocabularies.words,
            vocabularies.chars,
            longest=settings["char_encoder"]["longest"],
            with_views=settings["form_embeddings"]["size"] > 0,
        )
        self._predictor = FlatPredictor(network, table, _no_answer)

    def predictor(self) -> FlatPredictor:
        """Return what predicts flat lists of tokens."""
        return self._predictor


def _no_answer(inputs: Any, sentences: FlatSentences, questions: Questions) -> FlatPrediction:
    raise ValueError("probabilities need the network in torch")
