"""The trained tagger at work: sentences in, labels and entities out, in the order given."""

import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.model.flat_sentences import FlatSentences
from bilstm_crf.model.inference import EmissionBatch, InferenceNetwork
from bilstm_crf.model.numpy_network import BATCH_SENTENCES
from bilstm_crf.prediction.answers import Answers
from bilstm_crf.prediction.entity_patterns import EntityPatterns
from bilstm_crf.prediction.flat_prediction import FlatPrediction, FlatPredictor
from bilstm_crf.prediction.labeller import Labeller, ModelFacts, Prediction
from bilstm_crf.prediction.model_file import TrainedModel, load_model
from bilstm_crf.prediction.posterior import TemperedHead
from bilstm_crf.prediction.questions import Questions
from bilstm_crf.prediction.torch_answers import TorchBatch
from bilstm_crf.training.device import choose_device
from bilstm_crf.training.preparation import form_table

__all__ = ["Prediction", "Tagger"]


class Tagger(Labeller):
    """A trained model, loaded and ready.

    One tagger may be used by several threads at once, be pickled, and be carried into a forked
    process; it changes no global state.

    Args:
        model: as read from a model file.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:N`` or ``mps``.
        batch_sentences: most sentences that are decoded at once.
    """

    def __init__(
        self, model: TrainedModel, device: str = "cpu", *, batch_sentences: int = BATCH_SENTENCES
    ):
        super().__init__(
            ModelFacts(model.vocabularies, model.scheme, model.file_scheme, model.record)
        )
        self.model = model
        self.device = choose_device(device)
        self.network = model.network().to(self.device)
        self._arguments = (model, device, batch_sentences)
        self._inference = InferenceNetwork(self.network, batch_sentences=batch_sentences)
        self._patterns = EntityPatterns(self.labels, model.scheme)
        self._tempered = TemperedHead(self.network.head, model.temperature)
        self._predictors: dict[int, FlatPredictor] = {}

    @classmethod
    def load(cls, path: str | Path, device: str = "cpu") -> "Tagger":
        """Load a model file; raise ModelFileError if it is not one."""
        return cls(load_model(path), device)

    def __reduce__(self) -> tuple[Any, ...]:
        model, device, batch_sentences = self._arguments
        return partial(Tagger, batch_sentences=batch_sentences), (model, device)

    def predictor(self) -> FlatPredictor:
        """Return what predicts flat lists of tokens."""
        # A fork may come while another thread holds the cache's lock, so each process has its own.
        process = os.getpid()
        if process not in self._predictors:
            model = self.model
            table = partial(form_table, model.section, model.vocabularies)
            self._predictors = {process: FlatPredictor(self._inference, table, self._answer)}
        return self._predictors[process]

    @torch.inference_mode()
    def _answer(
        self, inputs: Tensor, sentences: FlatSentences, questions: Questions
    ) -> FlatPrediction:
        answers = Answers(sentences.starts, questions, self._runs, self._patterns)
        for scored in self._inference.emissions(inputs, sentences):
            answers.add(TorchBatch(scored, self._tempered, self.network.head))
        return answers.prediction()

    def emissions(self, sentences: Sequence[Sentence]) -> Iterator[EmissionBatch]:
        """Yield the label scores of sentences in batches of similar length.

        Raises:
            DataError: a sentence lacks an extra column that the model needs.
        """
        tokens = [token for sentence in sentences for token in sentence.tokens]
        starts = np.cumsum([0, *map(len, sentences)])
        opens = np.array([sentence.opens_document for sentence in sentences], dtype=bool)
        windows = self._window_starts(starts, opens)
        columns = self.column_ids_of(sentences)
        inputs, flat = self.predictor().look_up(tokens, starts, columns, windows)
        return self._inference.emissions(inputs, flat)
