"""Published corpora are read whole: sentences, tokens and entities are as their sources count."""

import time

import pytest

from bilstm_crf.corpus.checks import check_corpus
from bilstm_crf.corpus.labels import convert_labels, labels_to_spans
from bilstm_crf.corpus.readers import ReaderSettings, read_sentences

COUNTS = {
    "wnut17/train.conll": (3394, 62730, 1975),
    "wnut17/dev.conll": (1009, 15733, 836),
    "wnut17/test.conll": (1287, 23394, 1079),
    "bc5cdr-iob/train.tsv": (4560, 118170, 9385),
    "bc5cdr-iobes/train.tsv": (4560, 118170, 9385),
    "wikigold/wikigold.conll.txt": (1696, 39007, 3558),
    "uner_danish_ddt/da_ddt-ud-train.iob2": (4383, 80378, 3028),
    "uner_chinese_gsdsimp/zh_gsdsimp-ud-train.iob2": (3997, 98616, 6118),
    # 30,928 rows and four more whose token is "#".
    "hipe_ajmc/en/HIPE-2022-v2.1-ajmc-train-en.tsv": (60, 30932, 1823),
    # 285,928 rows and one more whose token is "#".
    "klue_ner/klue-ner-v1.1_dev.tsv": (5000, 285929, 14257),
    "crossner/ai/train.txt": (100, 3782, 532),
}
"""Sentences, tokens, entities; none of these files has a malformed row."""

LABELS = {
    "wikigold/wikigold.conll.txt": "IO",
    "bc5cdr-iobes/train.tsv": "BIOES",
    "swedish_ner/train_corpus.txt": "IO",
}
"""Schemes, where they are not BIO."""


@pytest.fixture
def path_of(corpora):
    def path_of(name):
        folder, _, rest = name.partition("/")
        return corpora(folder) / rest

    return path_of


def counts(sentences):
    return (
        len(sentences),
        sum(map(len, sentences)),
        sum(len(labels_to_spans(sentence.labels)) for sentence in sentences),
    )


@pytest.mark.parametrize("name", COUNTS)
def test_nothing_is_lost(path_of, name):
    sentences = list(read_sentences(path_of(name)))
    assert counts(sentences) == COUNTS[name]
    for sentence in sentences[:: len(sentences) // 50 or 1]:
        assert len(sentence.lines) == len(sentence.tokens) == len(sentence.labels)


def test_one_corpus_in_two_schemes_is_the_same(path_of):
    bio = list(read_sentences(path_of("bc5cdr-iob/train.tsv")))
    bioes = list(read_sentences(path_of("bc5cdr-iobes/train.tsv")))
    for one, two in zip(bio, bioes, strict=True):
        assert convert_labels(one.labels, "BIO", "BIOES") == list(two.labels)


@pytest.mark.parametrize(
    ("name", "expected", "faults"),
    [
        ("btc/f.conll", (2001, 35428, 4376), [(13046, "token"), (16304, "token")]),
        (
            "btc/h.conll",
            (2001, 29480, 3368),
            [(22918, "token"), (30879, "token"), (30881, "token")],
        ),
        ("swedish_ner/train_corpus.txt", (6885, 113125, 4200), [(90310, "columns")]),
        ("swedish_ner/test_corpus.txt", (2453, 42208, 1403), []),
    ],
)
def test_malformed_rows_are_mended_and_named(path_of, name, expected, faults):
    found = []
    settings = ReaderSettings(on_malformed="repair")
    sentences = list(read_sentences(path_of(name), settings, listener=found.append))
    assert counts(sentences) == expected
    assert [(fault.line, fault.kind.split()[-1]) for fault in found] == faults


@pytest.mark.parametrize("unit", [pytest.param("words", marks=pytest.mark.slow), "characters"])
def test_japanese_entities_are_their_text(path_of, unit):
    path = path_of("ja_wikipedia/ner.json")
    sentences = list(read_sentences(path, ReaderSettings(tokens=unit)))
    assert len(sentences) == 5343
    num_entities = 0
    for sentence in sentences:
        assert "".join(sentence.tokens) == "".join(sentence.text.split())
        num_entities += len(labels_to_spans(sentence.labels))
    assert num_entities == 13185


def test_hipe_sentences_end_at_their_flags(path_of):
    path = path_of("hipe_ajmc/en/HIPE-2022-v2.1-ajmc-train-en.tsv")
    sentences = list(read_sentences(path, ReaderSettings(sentence_end="EndOfSentence")))
    assert sum(map(len, sentences)) == 30932
    assert 1100 < len(sentences) < 1200
    assert max(map(len, sentences)) < 300


ODDITIES = {
    "wnut17/train.conll": [
        ("blank lines that hold white space", 2394, 28),
        ("begin with #", 828, 56),
    ],
    "wnut17/dev.conll": [("invisible characters", 2, 15556)],
    "btc/f.conll": [
        ("an empty token", 2, 13046),
        ("blank lines that hold white space", 1, 13045),
        ("white space at an end", 118, 4533),
    ],
    "btc/h.conll": [("white space inside", 4, 30882), ("an empty token", 3, 22918)],
    "wikigold/wikigold.conll.txt": [("-DOCSTART-", 145, 149), ("begin with #", 39, 16463)],
    "uner_danish_ddt/da_ddt-ud-train.iob2": [
        ("malformed in BIO", 6, 55941),
        ("comment lines", 8766, 1),
    ],
    "hipe_ajmc/en/HIPE-2022-v2.1-ajmc-train-en.tsv": [
        ("comment lines", 840, 2),
        ("begin with #", 4, 9881),
        ("flags of sentence ends", 1109, 76),
    ],
    "klue_ner/klue-ner-v1.1_dev.tsv": [
        ("tokens that are white space", 60379, 10),
        ("comment lines", 5005, 1),
        ("begin with #", 1, 179666),
    ],
    "swedish_ner/train_corpus.txt": [
        ("another number of columns", 1, 90310),
        ("tabs and runs of spaces", 1, 41122),
    ],
}
"""By file: part of the finding's kind, number of places, line of the first."""


@pytest.mark.slow
@pytest.mark.parametrize("name", ODDITIES)
def test_the_doctor_finds_the_known_oddities_with_their_lines(path_of, name):
    result = check_corpus([("train", path_of(name))])
    for part, count, line in ODDITIES[name]:
        (found,) = [finding for finding in result.findings if part in finding.kind]
        assert (found.count, found.places[0].line) == (count, line), part
    assert result.files[0].scheme.scheme == LABELS.get(name, "BIO")


@pytest.mark.slow
def test_reading_is_fast_and_in_bounded_memory(path_of, tmp_path):
    """A million tokens; a margin of three on what a slow machine was measured to do."""
    path = tmp_path / "big.conll"
    text = path_of("wnut17/train.conll").read_bytes()
    path.write_bytes(text * 16)
    start = time.process_time()
    num_tokens = sum(len(sentence.tokens) for sentence in read_sentences(path))
    assert num_tokens == 16 * 62730
    assert num_tokens / (time.process_time() - start) > 600_000
