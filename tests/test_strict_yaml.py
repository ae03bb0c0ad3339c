"""YAML: the traps of version 1.1, places of keys, and text that is no mapping of keys."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilstm_crf.errors import ConfigError
from bilstm_crf.strict_yaml import Document, parse_value, read_yaml, write_yaml


def read(text: str) -> dict[str, Any]:
    return Document(text, "a.yaml").values


@pytest.mark.parametrize("text", ["1e-3", "1E-3", "1.e-3", "0.001", "+.001", "10e-4"])
def test_decimal_numbers_in_any_notation(text: str) -> None:
    value = read(f"rate: {text}")["rate"]
    assert isinstance(value, float)
    assert value == 0.001


@pytest.mark.parametrize(
    "word",
    ["NO", "no", "on", "Off", "y", "Yes", "007", "-08", "12:30:45", "0x1F", "0o7", "1_000",
     "2026-01-02", "<<", "=", "."],
)  # fmt: skip
def test_words_stay_words(word: str) -> None:
    assert read(f"key: {word}") == {"key": word}
    assert read(f"key: [{word}, B-PER]") == {"key": [word, "B-PER"]}


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("False", False), ("~", None), ("null", None), ("", None), ("0", 0),
     ("-12", -12), ('"1e-3"', "1e-3"), ("'true'", "true"), ("!!str 5", "5"), ("3.0", 3.0)],
)  # fmt: skip
def test_plain_types(text: str, value: object) -> None:
    found = read(f"key: {text}")["key"]
    assert found == value
    assert type(found) is type(value)


def test_a_key_given_twice_is_refused_with_both_lines() -> None:
    with pytest.raises(ConfigError, match=r"a\.yaml:4: a\.b: given twice \(first at a\.yaml:2\)"):
        read("a:\n  b: 1\n  c: 2\n  b: 3\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [1\n", "a.yaml:2: not valid YAML"),
        ("a: 1\n b: 2\n", "a.yaml:2: not valid YAML"),
        ("\tb: 2\n", "a.yaml:1: not valid YAML"),
        ("x: &n 1\ny: *n\n", "a.yaml:2: not valid YAML: aliases"),
        ("x: !!python/object/apply:os.getcwd []\n", "a.yaml:1: tags are not supported"),
        ("x: !!python/name:os.getcwd\n", "a.yaml:1: tags are not supported"),
        ("x: !thing {a: 1}\n", "a.yaml:1: tags are not supported"),
        ("x: !!timestamp 2026-01-02\n", "a.yaml:1: tags are not supported"),
        ("x: !!int abc\n", "a.yaml:1: not a int: 'abc'"),
        ("x: !!bool maybe\n", "a.yaml:1: not a bool: 'maybe'"),
        (f"x: {'9' * 5000}\n", "a.yaml:1: not a int"),
        ("? [a]\n: 1\n", "a.yaml:1: a key must be a word"),
        ("- 1\n", "a.yaml: expected keys and values, found a list"),
        ("word\n", "a.yaml: expected keys and values, found the single value 'word'"),
        ("a: 1\n---\nb: 2\n", "a.yaml:2: not valid YAML"),
        ("a: \x00\n", "a.yaml: not valid YAML"),
        ("a: " + "[" * 5000, "a.yaml: not valid YAML"),
        ("a: " + "[" * 60 + "]" * 60, "a.yaml:1: nested deeper than 30 levels"),
    ],
)
def test_what_is_no_strict_yaml(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(text)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "~\n"])
def test_an_empty_document_has_no_keys(text: str) -> None:
    assert read(text) == {}


def test_places_name_the_deepest_key_that_was_given() -> None:
    document = Document("a:\n  b: 1\nc: {d: 2}\n", "a.yaml")
    assert document.place(("a", "b")) == (1, "a.yaml:2")
    assert document.place(("a", "x", "y")) == (0, "a.yaml:1")
    assert document.place(("c", "d")) == (3, "a.yaml:3")
    assert document.place(("z",)) == (4, "a.yaml")


def test_overriding_makes_sections_and_moves_the_place() -> None:
    document = Document("a: short\nb: {c: 1}\n", "a.yaml")
    document.override(("a", "x"), 2, "--set a.x=2")
    document.override(("new", "deep", "key"), 3, "--set new.deep.key=3")
    document.override(("b",), {"d": 4}, "--set b={d: 4}")
    assert document.values == {
        "a": {"type": "short", "x": 2},
        "b": {"d": 4},
        "new": {"deep": {"key": 3}},
    }
    assert document.place(("b", "c"))[1] == "--set b={d: 4}"
    with pytest.raises(ConfigError, match=r"--set b\.d\.e=1: d is not a section"):
        document.override(("b", "d", "e"), 1, "--set b.d.e=1")


@pytest.mark.parametrize(
    ("text", "value"), [("3", 3), ("1e-3", 0.001), ("[a, b]", ["a", "b"]), ("", ""), ("NO", "NO")]
)
def test_a_value_of_the_command_line(text: str, value: object) -> None:
    assert parse_value(text, "--set") == value


@pytest.mark.parametrize("text", [",", ";", "|", "#", "%", "-", ":", "'", "\t", " "])
def test_a_delimiter_on_the_command_line_needs_no_yaml_quotes(text: str) -> None:
    assert parse_value(text, "--set") == text
    assert parse_value("~", "--set") is None


@pytest.mark.parametrize("text", ["a: b", "[1", "1\nother: 2", "*x"])
def test_what_is_no_value(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^--set: "):
        parse_value(text, "--set")


def test_files_that_cannot_be_a_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"^{tmp_path}: is a folder"):
        read_yaml(tmp_path)
    with pytest.raises(ConfigError, match=f"^{tmp_path}/no.yaml: no such configuration file"):
        read_yaml(tmp_path / "no.yaml")
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"# line\nname: caf\xe9\n")
    with pytest.raises(ConfigError, match=r"latin.yaml:2: not UTF-8 \(byte 0xe9 at offset 16\)"):
        read_yaml(latin)
    large = tmp_path / "large.yaml"
    large.write_bytes(b"# " + b"x" * 2**20)
    with pytest.raises(ConfigError, match="larger than 1 MiB"):
        read_yaml(large)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_yaml(large / "inside.yaml")


def test_a_byte_order_mark_is_no_part_of_the_first_key(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"\xef\xbb\xbfseed: 1\r\n")
    assert read_yaml(path).values == {"seed": 1}


_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(blacklist_categories=["Cs"]), max_size=8)
    | st.sampled_from(
        ["1e-3", "007", "no", "true", "~", "1_0", "12:30", "a: b", "#", "x\ny", "- ", "\x85"]
    )
)


@given(st.dictionaries(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=5),
                       st.recursive(_SCALARS, lambda inner: st.lists(inner, max_size=3)
                                    | st.dictionaries(st.text(st.characters(categories=["L"]),
                                                              min_size=1), inner, max_size=3),
                                    max_leaves=6)),
       st.booleans())  # fmt: skip
def test_what_is_written_reads_back_equal(values: dict[str, Any], one_line: bool) -> None:
    found = read(write_yaml(values, one_line=one_line))
    assert found == values
    assert repr(found) == repr(values)
