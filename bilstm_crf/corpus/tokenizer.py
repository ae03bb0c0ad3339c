"""Cuts running text into tokens and sentences, by offsets, without losing a character."""

import re
from typing import Literal

TokenUnit = Literal["words", "characters"]

_WORD = re.compile(r"\w+|[^\w\s]")
_SENTENCE = re.compile(r"\S(?:.*?[.!?。！？]+(?=\s|$)|.*$)", re.S)


def tokenize(text: str, mode: TokenUnit = "words") -> list[tuple[int, int]]:
    """Return the half-open character offsets of the tokens of a text, in order."""
    if mode == "characters":
        return [(at, at + 1) for at, character in enumerate(text) if not character.isspace()]
    return [match.span() for match in _WORD.finditer(text)]


def split_sentences(text: str) -> list[tuple[int, int]]:
    """Return the half-open character offsets of the sentences of a text, in order."""
    return [match.span() for match in _SENTENCE.finditer(text)]
