"""The tagger as Python uses it: texts, tokens, probabilities, threads, processes."""

import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_models import random_model

from bilstm_crf.corpus.labels import labels_to_spans
from bilstm_crf.corpus.sentence import Sentence, Span
from bilstm_crf.errors import DataError
from bilstm_crf.prediction import flat_prediction, labeller
from bilstm_crf.prediction.form_cache import FormCache
from bilstm_crf.prediction.predictor import Tagger
from bilstm_crf.prediction.questions import Questions, Thresholds

TAGGER = Tagger(random_model())
TOKENS = st.sampled_from(["the", "Mira", "Holt", "sang", "Norvale", "日", "x", "7", "é"])
SENTENCES = st.lists(st.lists(TOKENS, max_size=7), max_size=7)
TEXT = "Mira Holt sang in Norvale. The rain is  in Holt.\n日本 Mira!"


def test_entities_of_texts_are_where_their_words_are():
    (spans,) = TAGGER.predict([TEXT])
    assert spans
    assert all(TEXT[span.start : span.end].strip() == TEXT[span.start : span.end] for span in spans)
    assert all(span.probability is None and span.type in TAGGER.types for span in spans)
    assert TAGGER.predict(["", "  \n", TEXT]) == [[], [], spans]
    assert TAGGER.predict([]) == []


def test_a_single_text_is_refused():
    with pytest.raises(TypeError, match="list of texts"):
        TAGGER.predict(TEXT)


@given(SENTENCES, st.integers(1, 9))
def test_any_window_gives_the_same_labels_in_order(sentences: list[list[str]], size: int):
    whole = TAGGER.predict_tokens(sentences)
    assert [len(labels) for labels in whole] == [len(tokens) for tokens in sentences]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(labeller, "WINDOW_TOKENS", size)
        small = Tagger(TAGGER.model, batch_sentences=size)
        assert small.predict_tokens(iter(sentences)) == whole
    assert [TAGGER.predict_tokens([tokens])[0] for tokens in sentences] == whole


@given(SENTENCES)
def test_spans_and_labels_say_the_same(sentences: list[list[str]]):
    given_ = [Sentence(tuple(tokens)) for tokens in sentences]
    for questions in (Questions(), Questions(probabilities=True)):
        for found in TAGGER.predict_sentences(given_, questions):
            bare = [replace(span, probability=None) for span in found.spans]
            assert bare == labels_to_spans(found.labels, "BIO")


def test_thresholds_drop_entities_and_their_labels():
    (spans,) = TAGGER.predict([TEXT], probabilities=True)
    values = sorted(span.probability for span in spans)
    assert 0 < values[0] < values[-1] <= 1
    (kept,) = TAGGER.predict([TEXT], threshold=values[-1], probabilities=True)
    assert kept == [span for span in spans if span.probability == values[-1]]
    (kept,) = TAGGER.predict([TEXT], threshold={"PER": 1.1})
    assert [span.type for span in kept] == [s.type for s in spans if s.type != "PER"]
    one = Sentence(("Mira", "Holt", "sang", "in", "Norvale"))
    questions = Questions(thresholds=Thresholds(1.1))
    (found,) = TAGGER.predict_sentences([one], questions)
    assert (found.labels, found.spans) == (["O"] * 5, [])


def test_marginals_and_ranked_paths():
    sentences = [Sentence(("Mira", "Holt", "sang")), Sentence(()), Sentence(("x",))]
    questions = Questions(marginals=True, k_best=3)
    found = list(TAGGER.predict_sentences(sentences, questions))
    for one, sentence in zip(found, sentences, strict=True):
        assert one.marginals is not None
        assert len(one.marginals) == len(sentence)
        for row in one.marginals:
            assert sum(row.values()) == pytest.approx(1.0, abs=1e-4)
            assert tuple(row) == TAGGER.labels
        assert one.k_best is not None
        values = [value for value, _ in one.k_best]
        assert values == sorted(values, reverse=True)
        assert sum(values) <= 1.0 + 1e-6
        assert one.k_best[0][1] == [replace(span, probability=None) for span in one.spans]
    assert [len(one.k_best or []) for one in found] == [3, 1, 3]


def test_a_missing_column_is_named():
    tagger = Tagger(random_model(columns={"pos": ("N", "V")}))
    sentence = Sentence(("Mira", "sang"), path="a.conll", lines=(4, 5))
    with pytest.raises(DataError, match=r"a\.conll:4.*'pos'"):
        list(tagger.predict_sentences([sentence]))
    whole = replace(sentence, features={"pos": ("N", "never seen")})
    assert len(next(tagger.predict_sentences([whole])).labels) == 2
    with pytest.raises(DataError, match="'pos'"):
        tagger.predict(["Mira sang."])


def test_a_sentence_without_end_is_cut(monkeypatch: pytest.MonkeyPatch, caplog):
    monkeypatch.setattr(flat_prediction, "LONGEST_SENTENCE", 5)
    tokens = ["Mira", "Holt", "sang", "in", "the"]
    (found,) = TAGGER.predict_tokens([tokens * 3])
    assert found == TAGGER.predict_tokens([tokens])[0] * 3
    assert "pieces of 5" in caplog.text
    with pytest.raises(DataError, match="too long"):
        list(TAGGER.predict_sentences([Sentence((*tokens, "x"))], Questions(k_best=2)))


def test_pickled_it_is_the_same():
    copy = pickle.loads(pickle.dumps(TAGGER))
    assert copy.predict([TEXT], probabilities=True) == TAGGER.predict([TEXT], probabilities=True)


def test_threads_can_share_it():
    tagger = Tagger(TAGGER.model)
    texts = [f"Mira Holt{number} sang in Norvale{number}." for number in range(40)]
    wanted = [TAGGER.predict([text]) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda text: tagger.predict([text]), texts)) == wanted


def _in_child(queue: "multiprocessing.Queue[list[list[Span]]]") -> None:
    queue.put(TAGGER.predict([TEXT]))


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_can_use_it():
    wanted = TAGGER.predict([TEXT])
    context = multiprocessing.get_context("fork")
    queue: multiprocessing.Queue[list[list[Span]]] = context.Queue()
    child = context.Process(target=_in_child, args=(queue,))
    with TAGGER.predictor()._cache._lock:  # as another thread might hold it at the fork
        child.start()
    assert queue.get(timeout=60) == wanted
    child.join(timeout=60)


def test_the_cache_stays_small_and_right():
    tagger = Tagger(TAGGER.model)
    predictor = tagger.predictor()
    engine = predictor._engine
    table = predictor._cache._new_table
    predictor._cache = FormCache(engine, table, most_bytes=4 * engine.input_size * 10)
    sentences = [[f"Mira{a}", f"Holt{b}", "sang"] for a in range(9) for b in range(9)]
    wanted = TAGGER.predict_tokens(sentences)
    assert [tagger.predict_tokens([tokens])[0] for tokens in sentences] == wanted
    assert len(predictor._cache._inputs) == 10
    assert tagger.predict_tokens(sentences) == wanted  # more forms at once than it may hold


MANY_WORDS = tuple(f"word{number}" for number in range(600))


@pytest.mark.parametrize(
    ("words", "config", "unit"),
    [
        (("the", "a", "rain"), {}, "words"),
        (("日", "本", "2019"), {}, "characters"),
        (("日本", "本", "2019"), {"tokens": "characters"}, "characters"),
        (("-", *MANY_WORDS), {}, "parts"),
        (("-", *MANY_WORDS, "cox-2"), {}, "words"),
        (MANY_WORDS, {}, "words"),
        (("-", *MANY_WORDS[:50]), {}, "words"),
        (("of", "in"), {"tokens": "parts"}, "parts"),
    ],
)
def test_text_is_cut_as_the_training_text_was(words, config, unit):
    assert Tagger(random_model(words=words, config=config)).token_unit == unit


def test_thresholds_are_read_from_the_command_line():
    found = Thresholds.parse(["0.5", "PER=0.9", "a=b=0.1"], ["PER", "a=b"])
    assert found == Thresholds(0.5, {"PER": 0.9, "a=b": 0.1})
    assert not Thresholds.parse([], [])
    for text in ("x", "1.5", "ORG=0.5", "PER=", "nan"):
        with pytest.raises(Exception, match="threshold"):
            Thresholds.parse([text], ["PER"])
