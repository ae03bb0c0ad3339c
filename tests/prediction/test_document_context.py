"""A model that reads documents: its labels do not depend on how the input is cut or comes."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_models import WORDS, random_model
from trickle import Trickle

from bilstm_crf.corpus.data_section import ReaderSettings
from bilstm_crf.corpus.readers import read_sentences
from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.prediction import flat_prediction, labeller, line_blocks
from bilstm_crf.prediction.light_tagger import LightTagger
from bilstm_crf.prediction.line_aligned import LineAligned
from bilstm_crf.prediction.line_blocks import last_sentence_end, read_blocks
from bilstm_crf.prediction.model_file import save_model
from bilstm_crf.prediction.predictor import Tagger
from bilstm_crf.prediction.questions import Questions
from bilstm_crf.prediction.scored_spans import score_spans

PATH = Path("in.conll")
MOST = 12


def model(most: int = MOST, **settings):
    config = {"context": "document", "context_tokens": most}
    return random_model(config=config, **settings)


TAGGER = Tagger(model())
ALONE = Tagger(random_model())

DOCUMENTS = st.lists(
    st.lists(st.lists(st.sampled_from(WORDS[:9]), min_size=1, max_size=7), min_size=1, max_size=5),
    min_size=1,
    max_size=5,
)


def sentences_of(documents) -> list[Sentence]:
    return [
        Sentence(tuple(tokens), opens_document=not number)
        for document in documents
        for number, tokens in enumerate(document)
    ]


def labels_by_hand(tagger: Tagger, documents) -> list[list[str]]:
    """Cut each document into windows, run the network over one at a time, decode each sentence."""
    found = []
    for document in documents:
        windows, size = [], MOST + 1
        for tokens in document:
            if size + len(tokens) > MOST:
                windows.append([])
                size = 0
            windows[-1].append(tokens)
            size += len(tokens)
        for window in windows:
            joined = Sentence(tuple(token for tokens in window for token in tokens))
            (batch,) = ALONE.emissions([joined])
            at = 0
            for tokens in window:
                scores = batch.emissions[:, at : at + len(tokens)]
                paths, _ = ALONE.network.head.viterbi_paths(
                    scores, scores.new_ones(scores.shape[:2], dtype=bool)
                )
                found.append([tagger.labels[i] for i in paths[0].tolist()])
                at += len(tokens)
    return found


def in_bio(labels: list[str]) -> list[str]:
    return [label.replace("S-", "B-").replace("E-", "I-") for label in labels]


@given(DOCUMENTS)
def test_the_network_reads_windows_and_decodes_sentences(documents):
    found = [one.labels for one in TAGGER.predict_sentences(sentences_of(documents))]
    assert found == [in_bio(labels) for labels in labels_by_hand(TAGGER, documents)]


@given(DOCUMENTS)
def test_both_engines_and_all_questions_give_the_same_labels(tmp_path_factory, documents):
    path = tmp_path_factory.mktemp("model") / "model.pt"
    save_model(model(), path)
    sentences = sentences_of(documents)
    expected = [one.labels for one in TAGGER.predict_sentences(sentences)]
    for threads in (1, 2):
        light = LightTagger(path, batch_sentences=2, threads=threads)
        assert [one.labels for one in light.predict_sentences(sentences)] == expected
    questions = Questions(probabilities=True, marginals=True, k_best=2)
    answers = list(TAGGER.predict_sentences(sentences, questions))
    assert [one.labels for one in answers] == expected
    scored = score_spans(TAGGER, sentences, [one.spans for one in answers])[0]
    for one, spans in zip(answers, scored, strict=True):
        assert [s.probability for s in spans.spans] == pytest.approx(
            [s.probability for s in one.spans], abs=1e-5
        )
        assert one.k_best[0][0] == pytest.approx(spans.path_probability, abs=1e-5)


@given(DOCUMENTS, st.integers(1, 40), st.integers(1, 5), st.integers(1, 60))
def test_neither_stretches_nor_batches_change_a_label(documents, ahead, batch, blocks):
    sentences = sentences_of(documents)
    expected = [one.labels for one in TAGGER.predict_sentences(sentences)]
    tagger = Tagger(model(), batch_sentences=batch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(labeller, "WINDOW_TOKENS", ahead)
        assert [one.labels for one in tagger.predict_sentences(iter(sentences))] == expected
    text = "".join(
        "-DOCSTART-\n\n" + "".join("\n".join(tokens) + "\n\n" for tokens in document)
        for document in documents
    )
    lines = labelled(tagger, text.encode(), blocks).decode().split("\n")
    rows = iter([label for labels in expected for label in labels])
    assert len(lines) == len(text.split("\n"))
    for line, result in zip(text.split("\n"), lines, strict=True):
        assert result == (f"{line}\t{next(rows)}" if line and line != "-DOCSTART-" else line)


def labelled(tagger: Tagger, data: bytes, size: int, **options: bool) -> bytes:
    aligned = LineAligned(tagger, PATH, ReaderSettings(), Questions(), **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_blocks, "BLOCK_BYTES", 1)
        stream = Trickle(data, size)
        blocks = list(read_blocks(stream, PATH, last_end=last_sentence_end))
    return b"".join([*(aligned.add_labels(one)[0] for one in blocks), aligned.finish()[0]])


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_lines_of_any_form_come_back_whole(size):
    text = (
        b"\xef\xbb\xbfTOKEN\tNE\r\n# newdoc\r\nMira\tO\r\nsang\tO\r\n\r\n\r\n# c\r\nin\tO\r\n \r\n"
        + b"the\tO\r\nrain\tO\r\n\r\n" * 9
        + b"# newdoc id = 2\r\nHolt\tO"
    )
    found = labelled(TAGGER, text, size, keep_columns=True)
    assert found == labelled(TAGGER, text, 10_000, keep_columns=True)
    lines, results = text.split(b"\r\n"), found.split(b"\r\n")
    assert results[0] == lines[0] + b"\tpredicted"
    assert [line.rpartition(b"\t")[0] if b"\t" in line else line for line in results[1:]] == (
        [*lines[1:]]
    )


def test_a_document_changes_labels_and_its_end_does_not_reach_further(tmp_path):
    text = "-DOCSTART- O\n\n" + "".join(f"{word} O\n\n" for word in WORDS if word != "#")
    path = tmp_path / "some.conll"
    path.write_text(text)
    once = [one.labels for one in TAGGER.predict_sentences(read_sentences(path))]
    path.write_text(text * 3)
    assert [one.labels for one in TAGGER.predict_sentences(read_sentences(path))] == once * 3
    alone = [one.labels for one in ALONE.predict_sentences(read_sentences(path))]
    assert alone != once * 3


def test_a_sentence_that_is_too_long_is_read_in_pieces(monkeypatch, caplog):
    monkeypatch.setattr(flat_prediction, "LONGEST_SENTENCE", 20)
    sentences = sentences_of([[["Mira"], ["sang"] * 50, ["Holt", "rain"]]])
    found = list(TAGGER.predict_sentences(sentences, Questions(probabilities=True)))
    assert [len(one.labels) for one in found] == [1, 50, 2]
    assert "is decoded in pieces of 20" in caplog.text


def test_a_long_file_without_marks_is_told_of_once(caplog):
    labelled(TAGGER, b"Mira\nsang\n\n" * 20, 30)
    assert caplog.text.count("no marks of documents") == 1
    caplog.clear()
    labelled(TAGGER, b"Mira\nsang\n\n" * 3 + b"-DOCSTART-\n" + b"x\n\n" * 30, 30)
    labelled(TAGGER, b"Mira\nsang\n\n", 30)
    assert caplog.text == ""


def test_sentences_of_an_api_are_read_by_themselves():
    rows = [["Mira", "Holt"], ["sang"], [], ["in", "norvale"]]
    together = TAGGER.predict_tokens(rows)
    assert together == [TAGGER.predict_tokens([row])[0] for row in rows]
    texts = ["Mira Holt sang. The rain in Norvale.", "Holt"]
    assert TAGGER.predict(texts) == [TAGGER.predict([text])[0] for text in texts]
    starts = np.array([0, 2, 3])
    whole = TAGGER.predict_flat(["Mira", "Holt", "sang"], starts, {}, documents=[0])
    parts = TAGGER.predict_flat(["Mira", "Holt", "sang"], starts, {}, documents=[0, 2])
    assert whole.starts.tolist() == parts.starts.tolist() == [0, 2, 3]
