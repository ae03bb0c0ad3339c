"""Labels for files with a token a line: the same lines, byte for byte, each with its label."""

from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np

from bilstm_crf.corpus.data_section import ReaderSettings
from bilstm_crf.errors import DataError
from bilstm_crf.prediction.flat_prediction import FlatPrediction
from bilstm_crf.prediction.labeller import Labeller
from bilstm_crf.prediction.questions import Questions
from bilstm_crf.prediction.token_columns import probability_cells
from bilstm_crf.prediction.token_lines import TokenLines, wrong_byte
from bilstm_crf.prediction.window_lines import line_reader


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
        self._reader = line_reader(path, settings, tagger.context_tokens)
        self._keep_columns = keep_columns
        self._last_head = b""

    def add_labels(self, block: bytes) -> tuple[bytes, int]:
        """Return a block with labels, and how many tokens it has.

        Args:
            block: the next whole sentences.

        Raises:
            DataError: a token is not UTF-8 or cannot stand in a column, or a column is missing.
        """
        return self._labelled(self._reader.read(block))

    def finish(self) -> tuple[bytes, int]:
        """Return what was held back once all blocks are given, with labels, and its tokens."""
        found = self._reader.finish()
        return (b"", 0) if found is None else self._labelled(found)

    def _labelled(self, found: TokenLines) -> tuple[bytes, int]:
        if self._reader.is_sheet and not self._keep_columns:
            found = self._as_token_lines(found)
        try:
            prediction = self._tagger.predict_flat(
                found.tokens, found.starts, found.columns, self._questions, found.documents
            )
        except UnicodeDecodeError:
            raise wrong_byte(found, self._path) from None
        return found.mark + self._join(found, prediction), len(found.tokens)

    def _as_token_lines(self, found: TokenLines) -> TokenLines:
        """Return the lines of a sheet with an empty line between its sentences."""
        heads = list(found.heads)
        line_end = b"\r\n" if b"\r\n" in found.line_ends else b"\n"
        for number, token in enumerate(found.tokens):
            if b"\t" in token:
                message = f"the token {token.decode()!r} holds a tab; use --output-format conll"
                raise DataError(message, self._path, found.where(number))
        for place in found.places[found.starts[:-1]].tolist():
            before = heads[place - 1] if place else self._last_head
            if before and place - 1 != found.header:
                heads[place] = line_end + heads[place]
        rows = [head for place, head in enumerate(heads) if place != found.header]
        self._last_head = b"".join(rows[-2:])  # the last is empty behind a line end
        return replace(found, heads=heads)

    def _join(self, found: TokenLines, prediction: FlatPrediction) -> bytes:
        delimiter = self._delimiter
        cell = self._reader.cell if self._keep_columns else str
        suffixes = [delimiter + cell(label).encode() for label in self._tagger.file_labels]
        ids = np.full(len(found.lines), len(suffixes))  # one past the labels: no token
        ids[found.places] = self._tagger.in_file_scheme(prediction)
        suffixes.append(b"")
        if found.header is not None:
            ids[found.header] = len(suffixes)
            suffixes.append(b"".join([delimiter + name for name in self._names()]))
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

    def _names(self) -> list[bytes]:
        """Return the names of the columns that are added."""
        names = [b"predicted"]
        names += [b"probability"] * self._questions.token_probabilities
        return names + [b"marginals"] * self._questions.marginals

    def _numbers(self, prediction: FlatPrediction) -> list[bytes]:
        """Return the further columns of each token."""
        values, rows = prediction.token_probabilities, prediction.marginals
        cells = probability_cells(
            None if values is None else values.tolist(),
            None if rows is None else (zip(self._tagger.labels, row, strict=True) for row in rows),
        )
        delimiter = self._delimiter.decode()
        cell = self._reader.cell if self._keep_columns else str
        return ["".join(delimiter + cell(one) for one in row).encode() for row in cells]

    @property
    def _delimiter(self) -> bytes:
        return self._reader.delimiter.encode() if self._keep_columns else b"\t"
