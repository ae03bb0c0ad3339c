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
    """

    rows: NDArray[np.integer]
    starts: NDArray[np.int64]
    columns: Mapping[str, NDArray[np.integer]] = field(default_factory=dict)
