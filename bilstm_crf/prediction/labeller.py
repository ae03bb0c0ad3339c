"""Labelling with a trained model, whatever runs its network: sentences, texts, flat token lists."""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.corpus.context import context_limit, first_sentences, take_windows
from bilstm_crf.corpus.labels import labels_to_spans
from bilstm_crf.corpus.sentence import Sentence, Span
from bilstm_crf.corpus.tokenizer import TokenUnit
from bilstm_crf.corpus.vocabulary import Vocabularies
from bilstm_crf.errors import DataError
from bilstm_crf.prediction.flat_prediction import FlatPrediction, FlatPredictor
from bilstm_crf.prediction.label_runs import LabelRuns
from bilstm_crf.prediction.questions import Questions, Thresholds
from bilstm_crf.prediction.text_sentences import sentences_of

_MARK_INSIDE = re.compile(r"\w[^\w\s]+\w")
_ENOUGH_WORDS = 500
"""Words from which on it is no accident that none has a mark inside."""

WINDOW_TOKENS = 100_000
"""Tokens that are read ahead, sorted by length and decoded together."""

_NOTHING = Questions()


@dataclass(frozen=True)
class Prediction:
    """A sentence with what the model says of it.

    Attributes:
        sentence: as it was given.
        labels: one a token, in the scheme of the training files.
        spans: entities, counted in tokens; with probabilities if those were asked for.
        marginals: for each token the probability of each of the model's labels, or None.
        k_best: the best sets of entities with their probabilities, best first, or None.
        token_probabilities: how probable each token's entity is, or that it is in none; or None.
    """

    sentence: Sentence
    labels: list[str]
    spans: list[Span]
    marginals: list[dict[str, float]] | None = None
    k_best: list[tuple[float, list[Span]]] | None = None
    token_probabilities: list[float] | None = None


@dataclass(frozen=True)
class ModelFacts:
    """What must be known of a model beside its network.

    Attributes:
        vocabularies: its words, characters, labels and column values.
        scheme: scheme of the model's labels.
        file_scheme: scheme of the training files, in which results are given.
        record: how it was made.
    """

    vocabularies: Vocabularies
    scheme: str
    file_scheme: str
    record: Mapping[str, Any]


class Labeller:
    """Labels with a trained model; what runs the network is up to the subclass.

    Args:
        facts: of the model.

    Attributes:
        context_tokens: most tokens of a window of sentences that the model reads at once; None if
            it reads each sentence by itself.
    """

    def __init__(self, facts: ModelFacts):
        self._facts = facts
        self._runs = LabelRuns(facts.vocabularies.labels, facts.scheme, facts.file_scheme)
        self.context_tokens = context_limit(facts.record.get("config", {}).get("data", {}))

    def predictor(self) -> FlatPredictor:
        """Return what predicts flat lists of tokens."""
        raise NotImplementedError

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the model in the order of their ids."""
        return self._facts.vocabularies.labels

    @property
    def file_scheme(self) -> str:
        """The scheme in which labels are given."""
        return self._facts.file_scheme

    @property
    def types(self) -> list[str]:
        """The entity types of the model."""
        return sorted({label.partition("-")[2] for label in self.labels} - {""})

    @property
    def training_columns(self) -> dict[str, int | str]:
        """Where each extra column that the model needs stood in the training files."""
        data = self._facts.record.get("config", {}).get("data", {})
        known: dict[str, int | str] = data.get("features", {})
        return {name: known[name] for name in self._facts.vocabularies.columns if name in known}

    @property
    def file_labels(self) -> Sequence[str]:
        """The labels in the scheme of the training files, by the ids of ``in_file_scheme``."""
        return self._runs.file_labels

    @cached_property
    def token_unit(self) -> TokenUnit:
        """What the tokens of running text are: what the training tokens were, by the look of them.

        Characters where most words are one; parts where the hyphen is a word and no word of a
        vocabulary of some size has a mark inside.
        """
        known: TokenUnit = (
            self._facts.record.get("config", {}).get("data", {}).get("tokens", "words")
        )
        words = self._facts.vocabularies.words.trained
        if known != "words":
            return known
        if 2 * sum(len(word) == 1 for word in words) > len(words):
            return "characters"
        in_parts = len(words) >= _ENOUGH_WORDS and "-" in words
        return "parts" if in_parts and not any(map(_MARK_INSIDE.search, words)) else "words"

    def predict_sentences(
        self, sentences: Iterable[Sentence], questions: Questions = _NOTHING
    ) -> Iterator[Prediction]:
        """Yield a prediction for each sentence, in order, reading only a window ahead.

        Raises:
            DataError: a sentence lacks an extra column that the model needs.
        """
        for window in self._windows(sentences):
            yield from self._predict_window(window, questions)

    def _windows(self, sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
        """Yield what is predicted together."""
        if self.context_tokens is not None:
            yield from take_windows(sentences, self.context_tokens, WINDOW_TOKENS)
            return
        remaining = iter(sentences)
        while window := list(_take_tokens(remaining, WINDOW_TOKENS)):
            yield window

    def predict_tokens(self, sentences: Iterable[Sequence[str]]) -> list[list[str]]:
        """Return the labels of tokenised sentences, in the scheme of the training files.

        Each is read by itself, also by a model that reads documents.
        """
        given = (Sentence(tuple(tokens), opens_document=True) for tokens in sentences)
        return [prediction.labels for prediction in self.predict_sentences(given)]

    def predict(
        self,
        texts: Iterable[str],
        *,
        probabilities: bool = False,
        threshold: float | Mapping[str, float] = 0.0,
    ) -> list[list[Span]]:
        """Return the entities of running texts, counted in characters of each text.

        Args:
            texts: any number of texts; each is split into sentences.
            probabilities: give each entity its exact probability.
            threshold: drop entities less probable than this, or than this for their type.
        """
        if isinstance(texts, str):
            raise TypeError("predict takes a list of texts; put the text into a list")
        by_type = threshold if isinstance(threshold, Mapping) else {}
        default = 0.0 if isinstance(threshold, Mapping) else threshold
        questions = Questions(probabilities=probabilities, thresholds=Thresholds(default, by_type))
        results: list[list[Span]] = []
        sentences: list[Sentence] = []
        owners: list[int] = []
        for number, text in enumerate(texts):
            results.append([])
            for sentence in sentences_of(text, self.token_unit):
                sentences.append(sentence)
                owners.append(number)
        predictions = self.predict_sentences(sentences, questions)
        for owner, prediction in zip(owners, predictions, strict=True):
            offsets = prediction.sentence.offsets or ()
            results[owner] += [
                Span(
                    offsets[span.start][0],
                    offsets[span.end - 1][1],
                    span.type,
                    span.probability if probabilities else None,
                )
                for span in prediction.spans
            ]
        return results

    def predict_flat(
        self,
        tokens: Sequence[str] | Sequence[bytes],
        starts: NDArray[np.int64],
        columns: Mapping[str, Sequence[str]],
        questions: Questions = _NOTHING,
        documents: Sequence[int] | NDArray[np.int64] = (),
    ) -> FlatPrediction:
        """Predict sentences that stand one after the other in one list of tokens.

        Args:
            tokens: of all sentences, as strings or as UTF-8.
            starts: (sentences + 1,) where each sentence begins.
            columns: values of the extra columns that the model needs, one a token.
            questions: what to find out beside the labels.
            documents: tokens that begin a document, for a model that reads documents.

        Raises:
            DataError: an extra column is missing.
            UnicodeDecodeError: a token given as bytes is not UTF-8.
        """
        ids = self._column_ids(columns)
        windows = self._window_starts(starts, np.isin(starts[:-1], documents))
        return self.predictor().predict(tokens, starts, ids, questions, windows)

    def _window_starts(
        self, starts: NDArray[np.int64], opens_document: NDArray[np.bool_]
    ) -> NDArray[np.int64] | None:
        if self.context_tokens is None:
            return None
        lengths = np.diff(starts).tolist()
        return starts[first_sentences(lengths, opens_document.tolist(), self.context_tokens)]

    def column_ids_of(self, sentences: Sequence[Sentence]) -> dict[str, NDArray[np.int64]]:
        """Return the value ids of the extra columns of all tokens.

        Raises:
            DataError: a sentence lacks one that the model needs.
        """
        names = self._facts.vocabularies.columns
        return self._column_ids({name: _column(name, sentences) for name in names})

    def _column_ids(self, columns: Mapping[str, Sequence[str]]) -> dict[str, NDArray[np.int64]]:
        ids = {}
        for name, known in self._facts.vocabularies.columns.items():
            if name not in columns:
                raise DataError(_missing_column(name))
            ids[name] = np.array([known.id(value) for value in columns[name]], dtype=np.int64)
        return ids

    def entities(self, prediction: FlatPrediction) -> list[Span]:
        """Return the entities in order, counted in tokens of the flat list."""
        if prediction.entities is not None:
            return prediction.entities
        return self._runs.entities(prediction.label_ids, prediction.starts)

    def in_file_scheme(self, prediction: FlatPrediction) -> NDArray[np.int64]:
        """Return the labels of all tokens as indices into ``file_labels``."""
        return self._runs.in_file_scheme(prediction.label_ids, prediction.starts)

    def _predict_window(self, window: list[Sentence], questions: Questions) -> Iterator[Prediction]:
        starts = np.cumsum([0, *map(len, window)])
        opens = starts[:-1][[sentence.opens_document for sentence in window]]
        found = self.predict_flat(
            [token for sentence in window for token in sentence.tokens],
            starts,
            {name: _column(name, window) for name in self._facts.vocabularies.columns},
            questions,
            opens,
        )
        labels = [self.file_labels[i] for i in self.in_file_scheme(found).tolist()]
        entities, values = deque(self.entities(found)), found.token_probabilities
        for sentence, (first, last) in zip(window, pairwise(starts.tolist()), strict=True):
            spans: list[Span] = []
            while entities and entities[0].start < last:
                spans.append(_moved(entities.popleft(), -first))
            yield Prediction(
                sentence,
                labels[first:last],
                spans,
                self._marginals(found, first, last),
                self._k_best(found, first, last),
                None if values is None else values[first:last].tolist(),
            )

    def _marginals(
        self, found: FlatPrediction, first: int, last: int
    ) -> list[dict[str, float]] | None:
        if found.marginals is None:
            return None
        rows = found.marginals[first:last].tolist()
        return [dict(zip(self.labels, row, strict=True)) for row in rows]

    def _k_best(
        self, found: FlatPrediction, first: int, last: int
    ) -> list[tuple[float, list[Span]]] | None:
        if found.k_best is None:
            return None
        piece = int(np.searchsorted(found.starts, first, side="right")) - 1
        if found.starts[piece + 1] < last:
            raise DataError(f"a sentence of {last - first} tokens is too long for its k best paths")
        ranked = found.k_best[piece] if first < last else [([], 1.0)]
        return [
            (value, labels_to_spans([self.labels[i] for i in path], self._facts.scheme))
            for path, value in ranked
        ]


def _moved(span: Span, by: int) -> Span:
    return Span(span.start + by, span.end + by, span.type, span.probability)


def _column(name: str, sentences: Iterable[Sentence]) -> list[str]:
    """Return the values of an extra column for all tokens."""
    values: list[str] = []
    for sentence in sentences:
        if name not in sentence.features:
            raise DataError(_missing_column(name), sentence.where() or None)
        values.extend(sentence.features[name])
    return values


def _missing_column(name: str) -> str:
    return f"the model needs the extra column {name!r} beside the tokens, as in training"


def _take_tokens(sentences: Iterator[Sentence], most: int) -> Iterator[Sentence]:
    """Yield sentences until they hold ``most`` tokens."""
    tokens = 0
    while tokens < most:
        taken = list(islice(sentences, 1))
        if not taken:
            return
        tokens += len(taken[0]) + 1
        yield taken[0]
