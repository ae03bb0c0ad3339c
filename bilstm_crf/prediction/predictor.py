"""The trained tagger at work: sentences in, labels and entities out, in the order given."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch

from bilstm_crf.corpus.encoding import encode
from bilstm_crf.corpus.labels import convert_labels, labels_to_spans
from bilstm_crf.corpus.sentence import Sentence, Span
from bilstm_crf.corpus.tokenizer import split_sentences, tokenize
from bilstm_crf.model.decoding import decode_corpus
from bilstm_crf.prediction.model_file import TrainedModel, load_model
from bilstm_crf.training.corpora import with_known_columns
from bilstm_crf.training.device import choose_device
from bilstm_crf.training.preparation import form_table

WINDOW_TOKENS = 50_000
"""Tokens that are read ahead, sorted by length and decoded together."""


@dataclass(frozen=True)
class Prediction:
    """A sentence with what the model says of it.

    Attributes:
        sentence: as it was given.
        labels: one a token, in the scheme of the training files.
        spans: entities, counted in tokens.
    """

    sentence: Sentence
    labels: list[str]
    spans: list[Span]


class Tagger:
    """A trained model, loaded and ready.

    Args:
        model: as read from a model file.
        device: ``auto``, ``cpu``, ``cuda``, ``cuda:N`` or ``mps``.
    """

    def __init__(self, model: TrainedModel, device: str = "cpu"):
        self.model = model
        self.device = choose_device(device)
        self.network = model.network().to(self.device)

    @classmethod
    def load(cls, path: str | Path, device: str = "cpu") -> "Tagger":
        """Load a model file; raise ModelFileError if it is not one."""
        return cls(load_model(path), device)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the model in the order of their ids."""
        return self.model.vocabularies.labels

    def predict_sentences(self, sentences: Iterable[Sentence]) -> Iterator[Prediction]:
        """Yield a prediction for each sentence, in order, reading only a window ahead."""
        remaining = iter(sentences)
        while window := list(_take_tokens(remaining, WINDOW_TOKENS)):
            yield from self._predict_window(window)

    def predict_tokens(self, sentences: Iterable[Sequence[str]]) -> list[list[str]]:
        """Return the labels of tokenised sentences."""
        given = (Sentence(tuple(tokens)) for tokens in sentences)
        return [prediction.labels for prediction in self.predict_sentences(given)]

    def predict(self, texts: Iterable[str]) -> list[list[Span]]:
        """Return the entities of running texts, counted in characters of each text."""
        results: list[list[Span]] = []
        sentences: list[Sentence] = []
        owners: list[int] = []
        for number, text in enumerate(texts):
            results.append([])
            for start, end in split_sentences(text):
                offsets = tuple(
                    (start + a, start + b) for a, b in tokenize(text[start:end], "words")
                )
                if offsets:
                    tokens = tuple(text[a:b] for a, b in offsets)
                    sentences.append(Sentence(tokens, text=text, offsets=offsets))
                    owners.append(number)
        for owner, prediction in zip(owners, self.predict_sentences(sentences), strict=True):
            offsets = prediction.sentence.offsets or ()
            results[owner] += [
                Span(offsets[s.start][0], offsets[s.end - 1][1], s.type, s.probability)
                for s in prediction.spans
            ]
        return results

    def _predict_window(self, window: list[Sentence]) -> Iterator[Prediction]:
        columns = tuple(self.model.vocabularies.columns)
        corpus = with_known_columns(encode(window, columns), self.model.vocabularies)
        forms = form_table(self.model.section, self.model.vocabularies)
        forms.extend(corpus.forms)
        names, scheme = self.labels, self.model.scheme
        with torch.inference_mode():
            paths = decode_corpus(self.network, corpus, forms)
        for sentence, path in zip(window, paths, strict=True):
            labels = [names[i] for i in path.tolist()]
            spans = labels_to_spans(labels, scheme)
            yield Prediction(
                sentence, convert_labels(labels, scheme, self.model.file_scheme), spans
            )


def _take_tokens(sentences: Iterator[Sentence], most: int) -> Iterator[Sentence]:
    """Yield sentences until they hold ``most`` tokens."""
    tokens = 0
    while tokens < most:
        taken = list(islice(sentences, 1))
        if not taken:
            return
        tokens += len(taken[0]) + 1
        yield taken[0]
