"""What the network makes of word forms, kept for the run: each form is encoded once."""

import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.corpus.forms import FormTable

if TYPE_CHECKING:
    from bilstm_crf.prediction.flat_prediction import Engine

logger = logging.getLogger(__name__)

MOST_BYTES = 160 * 2**20
"""Memory for the rows of the table. When they fill it, it is emptied and filled anew."""


class FormCache:
    """A growing table of form inputs, and the row of each form met so far.

    Tokens are looked up as strings or as UTF-8 bytes, the same ones in one of the two forms.
    Any number of threads may use it at once.

    Args:
        engine: encodes the forms.
        new_table: gives an empty form table.
        most_bytes: limit of the table; a single call with more forms than that still works.
    """

    def __init__(
        self,
        engine: "Engine",
        new_table: Callable[[], FormTable],
        *,
        most_bytes: int = MOST_BYTES,
    ):
        self._engine, self._new_table = engine, new_table
        self._most_rows = most_bytes // (4 * engine.input_size)
        self._lock = threading.Lock()
        self._warned = False
        self._empty()

    def _empty(self) -> None:
        self._rows = _RowNumbers()
        # Memory that is not written to costs nothing yet.
        self._inputs = self._engine.new_inputs(self._most_rows)

    def look_up(self, tokens: Sequence[str] | Sequence[bytes]) -> tuple[Any, NDArray[np.int32]]:
        """Return a table of inputs and the row of each token's form in it.

        Raises:
            UnicodeDecodeError: a token given as bytes is not UTF-8.
        """
        with self._lock:
            rows = self._number(tokens)
            if len(self._rows) > self._most_rows:
                # Whoever has the old table keeps it; the new one begins with these tokens.
                self._empty()
                rows = self._number(tokens)
            if self._rows.new:
                self._encode_new()
            return self._inputs, rows

    def _number(self, tokens: Sequence[str] | Sequence[bytes]) -> NDArray[np.int32]:
        numbers = map(self._rows.__getitem__, tokens)
        return np.fromiter(numbers, dtype=np.int32, count=len(tokens))

    def _encode_new(self) -> None:
        forms = self._new_table()
        forms.extend(self._rows.new)
        first, last = len(self._rows) - len(forms), len(self._rows)
        if last > len(self._inputs):
            self._inputs = self._engine.new_inputs(last)
        self._engine.form_inputs(forms, np.arange(len(forms)), out=self._inputs[first:last])
        self._rows.new = []
        if forms.num_shortened and not self._warned:
            self._warned = True
            logger.warning(
                "a very long word is seen by head and tail only (model.char_encoder.longest)"
            )


class _RowNumbers(dict[str | bytes, int]):
    """Row numbers in the order of first appearance; looking a new form up adds it."""

    def __init__(self) -> None:
        super().__init__()
        self.new: list[str] = []

    def __missing__(self, form: str | bytes) -> int:
        self.new.append(form if isinstance(form, str) else form.decode())
        number = self[form] = len(self)
        return number
