"""Flat label ids say what the labels of each sentence say by themselves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilstm_crf.corpus.labels import SCHEMES, convert_labels, labels_to_spans, model_labels
from bilstm_crf.prediction.label_runs import LabelRuns


@given(st.data(), st.sampled_from(sorted(SCHEMES)), st.sampled_from(sorted(SCHEMES)))
def test_any_labels_in_any_scheme(data: st.DataObject, scheme: str, target: str):
    labels = model_labels(["A", "B-C"], scheme)
    ids = st.integers(0, len(labels) - 1)
    sentences = data.draw(st.lists(st.lists(ids, max_size=6), max_size=5))
    runs = LabelRuns(labels, scheme, target)
    flat = np.array([i for sentence in sentences for i in sentence], dtype=np.int64)
    starts = np.cumsum([0, *map(len, sentences)])
    found = [runs.file_labels[i] for i in runs.in_file_scheme(flat, starts).tolist()]
    rows = [[labels[i] for i in sentence] for sentence in sentences]
    assert found == [label for row in rows for label in convert_labels(row, scheme, target)]
    wanted = [
        (first + span.start, first + span.end, span.type)
        for row, first in zip(rows, starts.tolist(), strict=False)
        for span in labels_to_spans(row, scheme)
    ]
    spans = runs.entities(flat, starts)
    assert [(span.start, span.end, span.type) for span in spans] == wanted


def test_the_outside_label_comes_first():
    with pytest.raises(ValueError, match="first label must be O"):
        LabelRuns(["B-A", "O"], "BIO", "BIO")
