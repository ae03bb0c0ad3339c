"""A trained model for labels and their probabilities, without torch."""

from functools import partial
from pathlib import Path

from bilstm_crf.corpus.forms import FormTable
from bilstm_crf.model.column_names import column_module
from bilstm_crf.model.flat_sentences import FlatSentences
from bilstm_crf.model.numpy_lstm import FloatArray
from bilstm_crf.model.numpy_network import BATCH_SENTENCES, NumpyNetwork, PackedEmissions
from bilstm_crf.prediction.answers import Answers
from bilstm_crf.prediction.entity_patterns import EntityPatterns
from bilstm_crf.prediction.flat_prediction import FlatPrediction, FlatPredictor
from bilstm_crf.prediction.labeller import Labeller, ModelFacts
from bilstm_crf.prediction.light_model import UnusualModelError, read_light_model
from bilstm_crf.prediction.numpy_answers import NumpyBatch
from bilstm_crf.prediction.questions import Questions


class LightTagger(Labeller):
    """Predicts like :class:`bilstm_crf.prediction.predictor.Tagger`; knows no k best paths.

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
        super().__init__(ModelFacts(vocabularies, model.scheme, model.file_scheme, model.record))
        try:
            self._network = NumpyNetwork(
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
        self._patterns = EntityPatterns(vocabularies.labels, model.scheme)
        self._temperature = model.temperature
        table = partial(
            FormTable,
            vocabularies.words,
            vocabularies.chars,
            longest=settings["char_encoder"]["longest"],
            with_views=settings["form_embeddings"]["size"] > 0,
        )
        self._predictor = FlatPredictor(self._network, table, self._answer)

    def predictor(self) -> FlatPredictor:
        """Return what predicts flat lists of tokens."""
        return self._predictor

    def _answer(
        self, inputs: FloatArray, sentences: FlatSentences, questions: Questions
    ) -> FlatPrediction:
        answers = Answers(sentences.starts, questions, self._runs, self._patterns)

        def ask(scored: PackedEmissions) -> None:
            answers.add(NumpyBatch(scored, self._network.head, self._temperature))

        self._network.for_each_batch(inputs, sentences, ask)
        return answers.prediction()
