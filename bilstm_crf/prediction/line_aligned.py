"""Labels for files with a token a line: the same lines, byte for byte, each with its label."""

from itertools import chain
from pathlib import Path

import numpy as np

from bilstm_crf.corpus.data_section import ReaderSettings
from bilstm_crf.prediction.flat_prediction import FlatPrediction
from bilstm_crf.prediction.labeller import Labeller
from bilstm_crf.prediction.questions import Questions
from bilstm_crf.prediction.token_lines import TokenLineReader, TokenLines, wrong_byte

_LEAST_MARGINAL = 0.001
"""Labels less probable than this are not listed."""


class LineAligned:
    """Adds labels to the lines of one file, block by block.

    Args:
        tagger: the model.
        path: the file, for messages.
        settings: how to read its columns.
        questions: what else to write behind the label: the probability of the token's entity
            (or of ``O``), then the probabilities of the model's labels, largest first.
        keep_columns: write the whole line and the label, else the token, a tab and the label.
    """

    def __init__(
        self,
        tagger: Labeller,
        path: Path,
        settings: ReaderSettings,
        questions: Questions,
        *,
        keep_columns: bool = False,
    ):
        self._tagger, self._path, self._questions = tagger, path, questions
        self._reader = TokenLineReader(path, settings)
        self._keep_columns = keep_columns

    def add_labels(self, block: bytes) -> tuple[bytes, int]:
        """Return a block with labels, and how many tokens it has.

        Args:
            block: the next whole sentences.

        Raises:
            DataError: a token is not UTF-8, or a column is missing.
        """
        found = self._reader.read(block)
        try:
            prediction = self._tagger.predict_flat(
                found.tokens, found.starts, found.columns, self._questions
            )
        except UnicodeDecodeError:
            raise wrong_byte(found, self._path) from None
        return found.mark + self._join(found, prediction), len(found.tokens)

    def _join(self, found: TokenLines, prediction: FlatPrediction) -> bytes:
        delimiter = self._delimiter
        suffixes = [delimiter + label.encode() for label in self._tagger.file_labels]
        ids = np.full(len(found.lines), len(suffixes))  # one past the labels: no token
        ids[found.places] = self._tagger.in_file_scheme(prediction)
        suffixes.append(b"")
        if self._questions.needs_marginals:
            tails = [suffixes[i] for i in ids.tolist()]
            numbers = self._numbers(prediction)
            for place, text in zip(found.places.tolist(), numbers, strict=True):
                tails[place] += text
            suffixes, ids = tails, np.arange(len(tails))
        if isinstance(found.line_ends, bytes):
            suffixes = [suffix + found.line_ends for suffix in suffixes]
            tails = [suffixes[i] for i in ids.tolist()]
            tails[-1] = tails[-1].removesuffix(found.line_ends)
        else:
            tails = [
                suffixes[i] + end for i, end in zip(ids.tolist(), found.line_ends, strict=True)
            ]
        heads = found.lines if self._keep_columns else found.heads
        return b"".join(chain.from_iterable(zip(heads, tails, strict=True)))

    def _numbers(self, prediction: FlatPrediction) -> list[bytes]:
        """Return the further columns of each token."""
        columns: list[list[str]] = []
        if prediction.token_probabilities is not None:
            columns.append([f"{value:.4f}" for value in prediction.token_probabilities.tolist()])
        if prediction.marginals is not None:
            labels = self._tagger.labels
            columns.append(
                [
                    "|".join(
                        f"{labels[i]}={row[i]:.4f}"
                        for i in np.argsort(-row, kind="stable")
                        if row[i] >= _LEAST_MARGINAL
                    )
                    for row in prediction.marginals
                ]
            )
        delimiter = self._delimiter.decode()
        return ["".join(delimiter + v for v in row).encode() for row in zip(*columns, strict=True)]

    @property
    def _delimiter(self) -> bytes:
        return self._reader.delimiter.encode() if self._keep_columns else b"\t"
