"""Splits running text into sentences, by rules that need no language, with true offsets.

A sentence ends

* at an empty line;
* after ``。``, ``！``, ``？`` and other full-width marks, wherever they stand;
* after ``.``, ``!``, ``?``, ``…`` or the full stop of another script, with the quotes
  and brackets that close there, if white space and then no lower-case letter follow.

A period ends no sentence after a single letter (``J. Smith``, ``p.m.``), after a number of
one or two digits (``3. december``) and after a short list of abbreviations (``Dr.``).
"""

import re

_FULL_WIDTH = "。！？｡︒︕︖"
_STOPS = ".!?…‽؟۔।॥։።፧፨។၊။᙮᠃᠉⸮"
_CLOSING = "\"'’”»›)\\]}」』）】》〉］｝〕"
_ABBREVIATIONS = """
    mr mrs ms dr drs prof st jr sr gen col capt lt sgt rev hon vs no nos fig eq vol pp cf ca al ed
    eds approx inc ltd co corp dept univ est jan feb mar apr jun jul aug sep sept oct nov dec
"""
_NOT_AFTER = frozenset(_ABBREVIATIONS.split())

_EMPTY_LINE = re.compile(r"\n[^\S\n]*\n")
# A run of stops is looked at once, from its start, and never again from within.
_BORDER = re.compile(
    rf"[{_FULL_WIDTH}]+[{_STOPS}]*[{_CLOSING}]*\s*"
    rf"|(?<![{_STOPS}])[{_STOPS}]++[{_CLOSING}]*+\s+"
    rf"|{_EMPTY_LINE.pattern}"
)
_LAST_WORD = re.compile(r"(\w+)\.$")


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Return the half-open character offsets of the sentences of a text, in order.

    White space around a sentence belongs to none; all else is in exactly one.
    """
    borders = [match.end() for match in _BORDER.finditer(text) if _ends_sentence(text, match)]
    sentences = []
    start = 0
    for end in [*borders, len(text)]:
        piece = text[start:end]
        if stripped := piece.strip():
            first = start + len(piece) - len(piece.lstrip())
            sentences.append((first, first + len(stripped)))
        start = end
    return sentences


def _ends_sentence(text: str, border: re.Match[str]) -> bool:
    marks = border[0].rstrip()
    if not marks or marks[0] in _FULL_WIDTH:
        return True
    following = text[border.end() : border.end() + 1]
    if following.islower():
        return _EMPTY_LINE.search(border[0]) is not None
    if marks != ".":
        return True
    word = _LAST_WORD.search(text, max(0, border.start() - 40), border.start() + 1)
    if word is None:
        return True
    last = word[1]
    is_short_number = last.isdigit() and len(last) <= 2
    is_letter = len(last) == 1 and last.isalpha()
    return not (is_short_number or is_letter or last.lower() in _NOT_AFTER)
