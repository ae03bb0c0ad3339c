"""Cuts running text into tokens, by rules that need no language, with true offsets.

Every character but white space is in exactly one token. In the mode ``words``, from the
first rule to the last:

* web and mail addresses, HTML entities (``&amp;``) are one token;
* ``@name`` and ``#tag`` are one token;
* an emoji with all that modifies it, and a flag, are one token; so are ``:)``, ``;-P``,
  ``<3``;
* letters with periods between (``U.S.``, ``p.m.``, ``bl.a.``), an initial before a
  capitalised word (``J. Smith``) and a short list of titles (``Dr.``) keep their periods;
* a word is a run of letters, digits, underscores, combining marks and zero-width
  joiners; hyphens, apostrophes, ``&`` and ``·`` between such runs belong to it, and so
  do ``.``, ``,``, ``:`` and ``/`` between digits (``10,000``, ``7:30``, ``1/2``);
* of a word with an apostrophe the English clitics are cut off (``It|'s``, ``do|n't``);
  other apostrophes stay inside (``O'Neill``, ``l'homme``);
* Han characters and kana are one token each, for their words have no visible borders;
* a run of one punctuation mark (``...``, ``!!``) is one token, any other character its own.

In the mode ``parts``, customary for biomedical text, a word is a run of letters, digits and
combining marks and nothing more; every other character is a token of its own
(``COX|-|2``, ``10|.|5``, ``5|'|-|AMP``), emoji and Han characters as above.

In the mode ``characters`` each character is a token, with the combining marks and
joined emoji that follow it.
"""

import functools
import re
import unicodedata
from collections.abc import Iterable
from typing import Literal

from bilstm_crf.corpus.sentence_splitter import split_sentences

__all__ = ["TokenUnit", "split_sentences", "tokenize"]

TokenUnit = Literal["words", "parts", "characters"]

HAN_AND_KANA = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3041-\u3096\u309d-\u309f\u30a1-\u30fa"
    "\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff66-\uff9d\U00020000-\U000323af"
)
_PICTOGRAPHS = (
    "\u2194-\u21ff\u2300-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299"
    "\U0001f000-\U0001f1e5\U0001f200-\U0001faff"
)
# Joiner, variation selectors, keycap, skin tones and the letters of flag tags.
_JOINER, _MODIFIERS = "\u200d", "\ufe0e\ufe0f\u20e3\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
_FLAG_LETTERS = "\U0001f1e6-\U0001f1ff"
_INVISIBLE_LETTERS = "\u00ad\u200b-\u200d\u2060\ufeff"
_TITLES = "Mrs?|Ms|Dr|Drs|Prof|St|Jr|Sr|Gen|Col|Capt|Lt|Sgt|Rev|Hon|vs|etc|No|Nos|Inc|Ltd|Corp"
_DOMAINS = "com|org|net|edu|gov|info|io|ly|tv|uk|eu"
# Past this code point there are no assigned letters or marks but variation selectors.
_LAST_LETTER = 0x323AF

_CLITIC = re.compile(r"(?<=.)(?:n['’]t|['’](?:s|re|ve|ll|d|m))$", re.IGNORECASE)


def tokenize(text: str, mode: TokenUnit = "words") -> list[tuple[int, int]]:
    """Return the half-open character offsets of the tokens of a text, in order."""
    if mode == "characters":
        return [match.span() for match in _character_pattern().finditer(text)]
    if mode == "parts":
        return [match.span() for match in _part_pattern().finditer(text)]
    offsets = [match.span() for match in _word_pattern().finditer(text)]
    if "'" in text or "’" in text:
        return [part for start, end in offsets for part in _without_clitic(text, start, end)]
    return offsets


def _without_clitic(text: str, start: int, end: int) -> list[tuple[int, int]]:
    if end - start < 3:
        return [(start, end)]
    match = _CLITIC.search(text, start, end)
    if match is None or match.start() == start:
        return [(start, end)]
    return [(start, match.start()), (match.start(), end)]


def _character_class(code_points: Iterable[int]) -> str:
    """Return code points, sorted, as the ranges of a regular expression's class."""
    ranges: list[list[int]] = []
    for code in code_points:
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


@functools.cache
def _letters() -> tuple[str, str, str]:
    r"""Return classes of combining marks, of upper-case letters and of characters of words.

    ``re`` knows no Unicode categories, and its ``\w`` leaves out the vowel signs of many
    scripts; so the classes are listed once, when the first text is cut.
    """
    han_and_kana = re.compile(f"[{HAN_AND_KANA}]")
    marks, upper, word = [], [], []
    for code in range(_LAST_LETTER + 1):
        character = chr(code)
        category = unicodedata.category(character)
        if category in ("Mn", "Mc", "Me"):
            marks.append(code)
            word.append(code)
        elif character == "_" or (character.isalnum() and not han_and_kana.match(character)):
            word.append(code)
            if category == "Lu":
                upper.append(code)
    return tuple(_character_class(codes) for codes in (marks, upper, word))  # type: ignore[return-value]


def _emoji() -> str:
    marks, _, _ = _letters()
    one = f"[{_PICTOGRAPHS}][{_MODIFIERS}{marks}]*"
    return f"[{_FLAG_LETTERS}]{{2}}|{one}(?:{_JOINER}{one})*"


@functools.cache
def _word_pattern() -> re.Pattern[str]:
    marks, upper, word = _letters()
    character = f"[{word}{_INVISIBLE_LETTERS}]"
    letter = r"[^\W\d_]"
    # Lengths are bounded where a rule could scan the same text from every position.
    rules = (
        rf"{character}+(?=\s|$)",  # most words: no rule for longer tokens can apply
        r"(?:https?|ftp)://[^\s<>\"]*[^\s<>\"'.,;:!?)\]}…’”]",
        r"www\.[^\s<>\"]*[^\s<>\"'.,;:!?)\]}…’”]",
        r"[\w.+-]{1,64}@\w[\w-]{0,62}(?:\.\w[\w-]{0,62}){1,8}",
        rf"\w[\w-]{{0,62}}(?:\.\w[\w-]{{0,62}}){{0,8}}\.(?:{_DOMAINS})\b(?:/[^\s<>\"]*\w/?)?",
        r"&(?:[A-Za-z]{2,8}|\#[0-9]{1,7});",
        rf"[@\#]{character}+",
        _emoji(),
        r"(?<!\w)[:;=]['’]?[-o^]?[)(\]\[DPpOo/\\|*3]+(?!\w)|<3+(?!\w)",
        rf"(?<!{character}){letter}{{1,2}}(?:\.{letter}{{1,3}})+\.(?!\w)",
        rf"(?<!{character}){letter}(?:\.{letter})+(?!{character})",
        rf"(?<!{character})[{upper}]\.(?=\s+[{upper}])",
        rf"(?<!{character})(?:{_TITLES})\.(?!{character})",
        r"['’](?:s|re|ve|ll|d|m|S|RE|VE|LL|D|M)\b",
        rf"{character}+(?:(?:[-‐‑'’&·]|(?<=\d)[.,:/](?=\d)){character}+)*",
        rf"[{HAN_AND_KANA}][{marks}\uff9e\uff9f]*",
        r"(?P<mark>[^\w\s])(?P=mark)*",
        r"\S",
    )
    return re.compile(rf"(?=\S)(?:{'|'.join(rules)})")


@functools.cache
def _part_pattern() -> re.Pattern[str]:
    marks, _, word = _letters()
    han_or_kana = rf"[{HAN_AND_KANA}][{marks}\uff9e\uff9f]*"
    return re.compile(rf"(?:(?!_)[{word}{_INVISIBLE_LETTERS}])+|{_emoji()}|{han_or_kana}|\S")


@functools.cache
def _character_pattern() -> re.Pattern[str]:
    marks, _, _ = _letters()
    return re.compile(rf"{_emoji()}|\S[{marks}{_JOINER}]*")
