"""Word vectors: headers, odd rows with their lines, binary files, only wanted rows."""

import gzip
import resource
import sys
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bilstm_crf.corpus import vectors
from bilstm_crf.corpus.binary_vectors import FASTTEXT_MAGIC
from bilstm_crf.corpus.vectors import read_vectors
from bilstm_crf.errors import DataError, MissingExtraError

ROWS = (
    "mira 0.1 0.2 0.3 0.4\nholt -0.5 0.25 0 1e-2\nnorvale 1 2 3 4\n"
    "7 0.7 0.7 0.7 0.7\nthe .5 -.5 .25 -.25\n"
)
WORDS = ["mira", "holt", "norvale", "7", "the"]


@pytest.fixture
def read(tmp_path):
    def read(data, name="vectors.txt", **options):
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return read_vectors(path, **options)

    return read


NUMERIC_FIRST = "".join(sorted(ROWS.splitlines(keepends=True)))


@pytest.mark.parametrize(
    "text",
    [
        ROWS,
        "5 4\n" + ROWS,
        "5 4\n" + ROWS.replace("\n", " \n"),
        ROWS.replace("\n", "\r\n"),
        ROWS.replace(" ", "\t"),
        "5\t4\n" + ROWS.replace(" ", "\t"),
        ROWS.rstrip("\n"),
        "\ufeff" + ROWS,
        ROWS.replace(" ", "  "),
        ROWS + "\n\n",
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_the_same_vectors_are_read_from_every_text_form(read, text, packed):
    found = read(gzip.compress(text.encode()) if packed else text)
    assert found.words == WORDS
    assert found.matrix.dtype == np.float32
    expected = [[0.1, 0.2, 0.3, 0.4], [-0.5, 0.25, 0, 0.01], [1, 2, 3, 4], [0.7] * 4]
    np.testing.assert_allclose(found.matrix[:4], expected, rtol=1e-6)
    assert found.notes == []


def test_a_number_as_the_first_word_is_no_header(read):
    found = read(NUMERIC_FIRST)
    assert found.words == ["7", "holt", "mira", "norvale", "the"]
    assert found.matrix.shape == (5, 4)


def test_a_wrong_number_of_rows_is_noted(read, caplog):
    found = read("9 4\n" + ROWS)
    assert found.words == WORDS
    assert found.notes == ["9 rows announced, 5 read"]
    assert "9 rows announced, 5 read" in caplog.text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a 1 2\nb 1 2\nc 1 2\nd 1\ne 1 2\n", ":4: 1 number where 2 are needed"),
        ("a 1 2\nb 1 2\nnorv", ":3: 0 numbers where 2 are needed; is the file cut off"),
        ("mira 0,1 0,2 0,3 0,4\n", ":1: '0,1' is not a number; decimals need a point"),
        ("a 1 2\nb 1 x\n", ":2: 'x' is not a number"),
        ("a 1 2\nb 1 nan\n", ":2: a number is not finite"),
        ("2 2\na 1 2\nb inf 2\n", ":3: a number is not finite"),
        ("a 1 2 3\nb 1 2  3\nc 1  2\n", ":3: 2 numbers where 3 are needed"),
        ("", ":1: no word vectors"),
        ("\n\n", ":1: no word vectors"),
        ("word\n", ":1: no word vectors"),
    ],
)
def test_rows_that_do_not_fit_are_named(read, text, message):
    with pytest.raises(DataError, match=message):
        read(text)


def test_a_size_unlike_the_files_names_both(read):
    with pytest.raises(DataError, match="vectors have 4 numbers, but the configured size is 100"):
        read(ROWS, size=100)
    assert read(ROWS, size=4).words == WORDS


def test_words_may_hold_spaces_and_repeat(read):
    found = read("New York 1 2\na 3 4\n. . . 5 6\na 7 8\nb 9 9\nc 1 1\nd 2 2\n")
    assert found.words == ["New York", "a", ". . .", "b", "c", "d"]
    np.testing.assert_array_equal(found.matrix[:3], [[1, 2], [3, 4], [5, 6]])
    assert found.notes == ["1 rows repeat a word; the first row of each counts"]


def test_unicode_white_space_is_part_of_a_word(read):
    assert read("a\u00a0b 1 2\nc\u2028 3 4\n\u0085 5 6\n").words == [
        "a\u00a0b",
        "c\u2028",
        "\u0085",
    ]


def test_words_that_are_not_text_are_left_out_and_counted(read):
    found = read(ROWS.encode().replace(b"7 0.7", b"caf\xe9 0.7"))
    assert found.words == ["mira", "holt", "norvale", "the"]
    assert found.notes == ["1 rows left out: the word is not utf-8 (first: line 4)"]
    latin = read("café 1 2\n".encode("latin-1"), encoding="latin-1")
    assert latin.words == ["café"]


def test_only_wanted_rows_are_kept(read):
    found = read(ROWS, wanted={"the", "7", "gone"}.__contains__)
    assert found.words == ["7", "the"]
    assert found.matrix.shape == (2, 4)
    assert read(ROWS, wanted=lambda _: False).matrix.shape == (0, 4)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), size=st.integers(1, 200))
def test_the_size_of_the_pieces_changes_nothing(tmp_path_factory, data, size):
    """Random vectors, text and binary, through small pieces: what was written is read."""
    dim = data.draw(st.integers(2, 5))
    word = st.text("aé漢😀-.", min_size=1, max_size=6)
    words = data.draw(st.lists(word, min_size=1, max_size=8, unique=True))
    numbers = st.floats(-1e3, 1e3, width=32)
    matrix = np.array([[data.draw(numbers) for _ in range(dim)] for _ in words], dtype=np.float32)
    lines = [
        f"{w} {' '.join(map(repr, row.tolist()))}\n" for w, row in zip(words, matrix, strict=True)
    ]
    text = f"{len(words)} {dim}\n" + "".join(lines)
    binary = f"{len(words)} {dim}\n".encode() + b"".join(
        w.encode() + b" " + row.tobytes() + b"\n" * data.draw(st.integers(0, 1))
        for w, row in zip(words, matrix, strict=True)
    )
    path = tmp_path_factory.getbasetemp() / "v.bin"
    for written in (text.encode(), binary):
        path.write_bytes(written)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(vectors, "_CHUNK_BYTES", size)
            if written is binary and not vectors._looks_binary(binary[:size]):
                continue  # the first piece is too small to tell, as no real one is
            found = read_vectors(path)
        assert found.words == words
        np.testing.assert_array_equal(found.matrix, matrix)


def test_binary_word2vec_is_read_or_refused_by_name(read):
    row = np.array([0.1, 0.2], dtype="<f4").tobytes()
    data = b"2 2\nmira " + row + b"\nholt " + row
    found = read(data + b"\n")
    assert found.words == ["mira", "holt"]
    np.testing.assert_allclose(found.matrix, [[0.1, 0.2]] * 2)
    assert read(data, wanted="holt".__eq__).words == ["holt"]
    with pytest.raises(DataError, match="the file ends in row 2 of 2: cut off"):
        read(data[:-3])
    with pytest.raises(DataError, match="a binary file, but neither gzip nor word vectors"):
        read(b"\x7fELF\0\0\0")
    with pytest.raises(DataError, match="the configured size is 3"):
        read(data, size=3)


def test_fasttext_binary_needs_gensim(read, monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim.models.fasttext", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'bilstm-crf\[vectors\]'"):
        read(FASTTEXT_MAGIC + b"\0" * 100, name="model.bin")


def test_fasttext_binary_is_read_through_gensim(read, monkeypatch):
    class Vectors(dict):
        index_to_key = ("mira", "holt")
        vector_size = 2

    def load_facebook_vectors(path):
        if path.endswith("broken.bin"):
            raise ValueError("cut off")
        return Vectors(mira=np.ones(2), holt=np.zeros(2))

    module = types.SimpleNamespace(load_facebook_vectors=load_facebook_vectors)
    monkeypatch.setitem(sys.modules, "gensim.models.fasttext", module)
    for parent in ("gensim", "gensim.models"):
        monkeypatch.setitem(sys.modules, parent, types.ModuleType(parent))
    found = read(FASTTEXT_MAGIC, name="model.bin", wanted="mira".__eq__)
    assert (found.words, found.matrix.tolist(), found.matrix.dtype) == (
        ["mira"],
        [[1, 1]],
        "float32",
    )
    assert read(FASTTEXT_MAGIC, name="model.bin", wanted=lambda _: False).matrix.shape == (0, 2)
    with pytest.raises(DataError, match="cannot read this as fastText vectors: cut off"):
        read(FASTTEXT_MAGIC, name="broken.bin")


PIECES = [
    b"2 2\n",
    b"a 1 2\n",
    b"b c 1 2\n",
    b"x\n",
    b"\n",
    b" ",
    b"\0",
    b"\xff 1 2\n",
    b"1e999 1 2\n",
    b"\x1f\x8b",
    b"a\t1\t2\n",
    b"a 1 2 \r\n",
    b"a 0x1 2\n",
    b"a 1_0 2\n",
    b"9999999999 99999999\n",
]


@given(data=st.one_of(st.binary(max_size=40), st.lists(st.sampled_from(PIECES)).map(b"".join)))
@settings(max_examples=300)
def test_any_bytes_give_vectors_or_a_one_line_error(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "any.vectors"
    path.write_bytes(data)
    message = ""
    try:
        found = read_vectors(path)
    except DataError as error:
        message = str(error)
    else:
        assert found.matrix.shape[0] == len(found.words) == len(set(found.words))
        assert np.isfinite(found.matrix).all()
    assert "\n" not in message


@pytest.mark.slow
def test_a_big_file_takes_little_memory_where_few_words_are_wanted(tmp_path):
    """Two million words of 50 numbers: at most 300 MiB more than before."""
    path = tmp_path / "big.txt"
    row = " ".join(f"{number / 100:.4f}" for number in range(50))
    with path.open("w") as stream:
        for number in range(2_000_000):
            stream.write(f"word{number} {row}\n")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = read_vectors(path, wanted=lambda word: word.endswith("777"))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert len(found.words) == 2000
    assert (after - before) / 1024 < 300
