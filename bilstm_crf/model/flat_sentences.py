"""Sentences for prediction: rows of a table of word forms, one sentence after the other."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class FlatSentences:
    """Sentences as rows of a table of form inputs.

    Attributes:
        rows: (tokens,) table row of each token's form.
        starts: (sentences + 1,) where each sentence begins.
        columns: value ids of extra columns by name, each (tokens,).
        windows: (windows + 1,) where each window begins, some of ``starts``, if the network reads
            several sentences at once; None if it reads each by itself.
    """

    rows: NDArray[np.integer]
    starts: NDArray[np.int64]
    columns: Mapping[str, NDArray[np.integer]] = field(default_factory=dict)
    windows: NDArray[np.int64] | None = None

    @property
    def sequence_starts(self) -> NDArray[np.int64]:
        """Where each sequence that the network reads begins."""
        return self.starts if self.windows is None else self.windows
