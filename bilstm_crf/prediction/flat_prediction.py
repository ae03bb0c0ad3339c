"""From tokens in one flat list to label ids in one flat array, and what else is asked of them."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.corpus.forms import FormTable
from bilstm_crf.corpus.sentence import Span
from bilstm_crf.model.flat_sentences import FlatSentences
from bilstm_crf.prediction.form_cache import FormCache
from bilstm_crf.prediction.questions import Questions

logger = logging.getLogger(__name__)

IntArray = NDArray[np.int64]

LONGEST_SENTENCE = 20_000
"""Longer sentences are decoded in pieces of this many tokens, so that memory stays bounded."""


class Engine(Protocol):
    """A network that labels sentences; its tables are numpy's or torch's."""

    @property
    def input_size(self) -> int:
        """Numbers in a row of form inputs."""

    def new_inputs(self, rows: int) -> Any:
        """Return memory for form inputs."""

    def form_inputs(self, forms: FormTable, numbers: NDArray[np.integer], *, out: Any) -> Any:
        """Write what the network keeps of some word forms."""

    def label_ids(self, inputs: Any, sentences: FlatSentences) -> IntArray:
        """Return the best label id of each token."""


@dataclass(frozen=True)
class FlatPrediction:
    """What a model says of sentences that stand one after the other.

    Attributes:
        label_ids: (tokens,) ids of the model's labels.
        starts: (pieces + 1,) where each decoded piece begins; a piece is a sentence, but for
            those longer than ``LONGEST_SENTENCE``.
        entities: in order, counted in tokens of the flat array, with probabilities if those
            were asked for; None where nothing was asked.
        token_probabilities: (tokens,) probability of the token's entity, or of ``O``.
        marginals: (tokens, labels) probability of each label of the model.
        k_best: for each piece its best label paths and their probabilities, best first.
    """

    label_ids: IntArray
    starts: IntArray
    entities: list[Span] | None = None
    token_probabilities: NDArray[np.float32] | None = None
    marginals: NDArray[np.float32] | None = None
    k_best: list[list[tuple[list[int], float]]] | None = None


Answer = Callable[[Any, FlatSentences, Questions], FlatPrediction]
"""Labels sentences and answers questions; the first argument is a table of form inputs."""


class FlatPredictor:
    """Predicts flat lists of tokens. Any number of threads may use it at once.

    Args:
        engine: the network.
        new_table: gives an empty table of forms.
        answer: for questions beside the labels.
    """

    def __init__(self, engine: Engine, new_table: Callable[[], FormTable], answer: Answer):
        self._engine, self._answer = engine, answer
        self._cache = FormCache(engine, new_table)

    def predict(
        self,
        tokens: Sequence[str] | Sequence[bytes],
        starts: IntArray,
        columns: Mapping[str, NDArray[np.integer]],
        questions: Questions,
        windows: IntArray | None = None,
    ) -> FlatPrediction:
        """Predict sentences.

        Args:
            tokens: of all sentences, one after the other.
            starts: (sentences + 1,) where each sentence begins.
            columns: value ids of extra columns by name, each (tokens,).
            questions: what to find out beside the labels.
            windows: (windows + 1,) where each window begins that is read at once, if not each
                sentence is read by itself.

        Raises:
            UnicodeDecodeError: a token given as bytes is not UTF-8.
        """
        # A window with a sentence that is too long has no other.
        windows = None if windows is None else _cut_long(windows)
        inputs, sentences = self.look_up(tokens, _cut_long(starts), columns, windows)
        if questions:
            return self._answer(inputs, sentences, questions)
        return FlatPrediction(self._engine.label_ids(inputs, sentences), sentences.starts)

    def look_up(
        self,
        tokens: Sequence[str] | Sequence[bytes],
        starts: IntArray,
        columns: Mapping[str, NDArray[np.integer]],
        windows: IntArray | None = None,
    ) -> tuple[Any, FlatSentences]:
        """Return a table of form inputs, and the sentences as rows of it."""
        inputs, rows = self._cache.look_up(tokens)
        return inputs, FlatSentences(rows, starts, columns, windows)


def _cut_long(starts: IntArray) -> IntArray:
    """Return the starts with some added inside of sentences that are too long."""
    if not len(starts) or np.diff(starts).max(initial=0) <= LONGEST_SENTENCE:
        return starts
    logger.warning(
        "a sentence of %d tokens is decoded in pieces of %d; are blank lines missing?",
        np.diff(starts).max(), LONGEST_SENTENCE,
    )  # fmt: skip
    cut: list[int] = []
    for start, end in pairwise(starts.tolist()):
        cut.extend(range(start, max(end, start + 1), LONGEST_SENTENCE))
    return np.array([*cut, starts[-1]], dtype=np.int64)
