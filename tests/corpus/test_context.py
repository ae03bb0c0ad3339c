"""Windows of neighbouring sentences: whole ones, of one document, the same in whatever stretch."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilstm_crf.corpus.batches import make_batch
from bilstm_crf.corpus.context import (
    context_limit,
    first_sentences,
    sentences_inside,
    take_windows,
)
from bilstm_crf.corpus.encoding import encode
from bilstm_crf.corpus.forms import FormTable
from bilstm_crf.corpus.readers import ReaderSettings, read_sentences, read_split
from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.corpus.vocabulary import Vocabulary, WordVocabulary

SENTENCES = st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=20)


def sentence(number: int, length: int, opens: bool) -> Sentence:
    tokens = tuple(f"w{number}.{place}" for place in range(length))
    return Sentence(tokens, ("O",) * length, opens_document=opens)


@given(SENTENCES, st.integers(1, 9))
def test_windows_are_whole_sentences_of_one_document_as_many_as_fit(rows, most):
    lengths, opens = [row[0] for row in rows], [row[1] for row in rows]
    firsts = first_sentences(lengths, opens, most).tolist()
    assert firsts[-1] == len(rows)
    assert firsts[0] == 0
    assert firsts == sorted(set(firsts)) or not rows
    for first, last in pairwise(firsts):
        size = sum(lengths[first:last])
        assert size <= most or np.count_nonzero(lengths[first:last]) == 1
        assert not any(opens[first + 1 : last])
        if last < len(rows) and not opens[last]:
            assert size + lengths[last] > most


@given(SENTENCES, st.integers(1, 9), st.integers(0, 30))
def test_reading_ahead_takes_whole_windows(rows, most, enough):
    sentences = [sentence(n, length, opens) for n, (length, opens) in enumerate(rows)]
    opens = [one.opens_document for one in sentences]
    borders = set(first_sentences(map(len, sentences), opens, most).tolist())
    taken = list(take_windows(sentences, most, enough))
    assert [one for some in taken for one in some] == sentences
    at = 0
    for some in taken:
        assert at in borders
        at += len(some)


@given(SENTENCES, st.integers(1, 9), st.data())
def test_a_batch_of_windows_knows_its_sentences(rows, most, data):
    corpus = encode([sentence(n, length, opens) for n, (length, opens) in enumerate(rows)])
    corpus = corpus.in_windows(most)
    filled = np.flatnonzero(corpus.sequence_lengths)
    if not len(filled):
        return
    chosen = np.array(
        data.draw(st.lists(st.sampled_from(filled.tolist()), min_size=1, unique=True))
    )
    forms = FormTable(WordVocabulary([], []), Vocabulary([]), longest=9)
    forms.extend(corpus.forms)
    batch = make_batch(corpus, forms, chosen)
    assert batch.lengths.tolist() == corpus.sequence_lengths[chosen].tolist()
    assert corpus.count_sentences(chosen) >= len(batch.sentence_lengths)
    begins = corpus.sequence_starts[chosen]
    numbers, _, _ = sentences_inside(corpus.starts, begins, corpus.sequence_starts[chosen + 1])
    assert batch.sentence_lengths.tolist() == corpus.lengths[numbers].tolist()
    assert batch.labels.shape == batch.places.shape == batch.sentence_mask.shape
    # The words at the places of a sentence are its words.
    distinct = np.unique(
        np.concatenate(
            [
                corpus.form_ids[a : a + n]
                for a, n in zip(begins, batch.lengths.tolist(), strict=True)
            ]
        )
    )
    words = batch.index.flatten()[batch.places].numpy()
    for row, number in enumerate(numbers.tolist()):
        length = int(corpus.lengths[number])
        expected = corpus.form_ids[corpus.starts[number] : corpus.starts[number] + length]
        assert distinct[words[row, :length]].tolist() == expected.tolist()


@pytest.mark.parametrize(
    "mark",
    [
        "-DOCSTART- -X- O",
        "-DOCSTART- -X- O\n",
        "# newdoc id = x",
        "# newdoc",
        "# hipe2022:document_id = x",
        "\n# text = b\n# document_id = 3\n# date = 1",
    ],
)
def test_marks_of_documents_are_known(tmp_path, mark):
    path = tmp_path / "some.conll"
    text = f"{mark}\na N O\n\nb N O\n\n{mark}\nc N O\n# note\nd N O\n\ne N O\n{mark}\nf N O\n"
    path.write_text(text, encoding="utf-8")
    found = list(read_sentences(path))
    assert [" ".join(one.tokens) for one in found] == ["a", "b", "c d", "e", "f"]
    assert [one.opens_document for one in found] == [True, False, True, False, True]


def test_every_file_and_json_object_opens_a_document(tmp_path):
    (tmp_path / "a.conll").write_text("a O\n\nb O\n")
    (tmp_path / "b.conll").write_text("c O\n\nd O\n")
    (tmp_path / "c.jsonl").write_text(
        '{"text": "One here. Two there.", "spans": []}\n{"tokens": ["x"], "labels": ["O"]}\n'
    )
    files = [tmp_path / name for name in ("a.conll", "b.conll", "c.jsonl")]
    found = list(read_split(files, ReaderSettings(split_sentences=True)))
    opens = [True, False, True, False, True, False, True]
    assert [one.opens_document for one in found] == opens
    assert encode(found).documents.tolist() == [0, 2, 4, 6]


def test_hipe_has_its_documents(corpora):
    path = corpora("hipe_ajmc") / "en/HIPE-2022-v2.1-ajmc-train-en.tsv"
    found = list(read_sentences(path, ReaderSettings(sentence_end="EndOfSentence")))
    assert sum(one.opens_document for one in found) == 60


def test_the_limit_is_read_from_a_record():
    assert context_limit({}) is None
    assert context_limit({"context": "sentence", "context_tokens": 8}) is None
    assert context_limit({"context": "document", "context_tokens": 8}) == 8
    for wrong in ({"context": "book"}, {"context": "document", "context_tokens": "8"},
                  {"context": "document", "context_tokens": 0}):  # fmt: skip
        with pytest.raises(ValueError, match="context"):
            context_limit(wrong)
