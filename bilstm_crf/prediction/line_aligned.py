"""Labels for files with a token a line: the same lines, byte for byte, each with its label."""

from itertools import chain
from pathlib import Path

import numpy as np

from bilstm_crf.corpus.data_section import ReaderSettings
from bilstm_crf.corpus.layout_detection import detect_layout
from bilstm_crf.errors import DataError
from bilstm_crf.prediction.flat_prediction import FlatPrediction
from bilstm_crf.prediction.predictor import Tagger
from bilstm_crf.prediction.questions import Questions
from bilstm_crf.prediction.token_lines import TokenLineReader, TokenLines

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_HEAD_BYTES = 1 << 16
"""How much of a file its layout is found from."""

_LEAST_MARGINAL = 0.001
"""Labels less probable than this are not listed."""


class LineAligned:
    """Adds labels to the lines of one file, block by block.

    Args:
        tagger: the model.
        path: the file, for messages.
        settings: how to read its columns.
        keep_columns: write the whole line and the label, else the token, a tab and the label.
        questions: what else to write behind the label: the probability of the token's entity
            (or of ``O``), then the probabilities of the model's labels, largest first.
    """

    def __init__(
        self,
        tagger: Tagger,
        path: Path,
        settings: ReaderSettings,
        questions: Questions,
        *,
        keep_columns: bool = False,
    ):
        self._tagger, self._path, self._settings = tagger, path, settings
        self._questions, self._keep_columns = questions, keep_columns
        self._reader: TokenLineReader | None = None
        self._delimiter = b"\t"
        self._first_line = 1

    def add_labels(self, block: bytes) -> tuple[bytes, int]:
        """Return a block with labels, and how many tokens it has.

        Args:
            block: whole sentences; blocks must come in order.

        Raises:
            DataError: a token is not UTF-8, or a column is missing.
        """
        mark = b""
        if self._reader is None:
            if block.startswith(_BYTE_ORDER_MARK):
                mark, block = _BYTE_ORDER_MARK, block[len(_BYTE_ORDER_MARK) :]
            self._reader = self._new_reader(block)
        found = self._reader.read(block, self._first_line)
        try:
            prediction = self._tagger.predict_flat(
                found.tokens, found.starts, found.columns, self._questions
            )
        except UnicodeDecodeError:
            raise self._wrong_byte(found) from None
        self._first_line += len(found.lines) - 1
        return mark + self._join(found, prediction), len(found.tokens)

    def _new_reader(self, block: bytes) -> TokenLineReader:
        head = block[: block.find(b"\n", _HEAD_BYTES) + 1] or block
        text = head.decode("utf-8", "replace").replace("\r\n", "\n")
        layout = detect_layout(text, self._settings, self._path, labelled=False)
        if self._keep_columns and layout.width > 1:
            self._delimiter = layout.delimiter.encode()
        return TokenLineReader(layout, self._path)

    def _join(self, found: TokenLines, prediction: FlatPrediction) -> bytes:
        suffixes = [self._delimiter + label.encode() for label in self._tagger.file_labels]
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

    def _wrong_byte(self, found: TokenLines) -> DataError:
        for token, place in zip(found.tokens, found.places.tolist(), strict=True):
            try:
                token.decode()
            except UnicodeDecodeError as error:
                message = (
                    f"byte 0x{token[error.start]:02x} in the token is not UTF-8; name the file's "
                    f"own encoding with --encoding, or convert the file"
                )
                return DataError(message, self._path, self._first_line + place)
        raise ValueError("every token is UTF-8")
