"""What is odd about tokens: white space, invisible characters, lengths, code forms."""

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bilstm_crf.corpus.findings import Findings, Place, Severity
from bilstm_crf.corpus.malformed import REPLACEMENT_TOKEN

LONG_TOKEN = 200
"""Tokens with more characters are reported."""

_USUAL_JOINERS = "\u200c\u200d"
"""Zero-width joiners, which Persian, Indic scripts and emoji need."""


@dataclass
class TokenUse:
    """How often a distinct token stands in a file, and where first."""

    count: int = 0
    line: int | None = None


def check_tokens(path: str, tokens: Mapping[str, TokenUse], findings: Findings) -> None:
    """Add what is odd about the distinct tokens of a file, each at its first line."""
    for token, use in tokens.items():
        if token.isascii() and token.isprintable() and " " not in token and len(token) < LONG_TOKEN:
            continue
        for severity, kind, detail in _oddities(token):
            times = f", {use.count} times" if use.count > 1 else ""
            place = Place(path, use.line, f"{detail}{times}")
            findings.add(severity, kind, place, use.count)


def _oddities(token: str) -> Iterator[tuple[Severity, str, str]]:
    shown = repr(token) if len(token) <= 40 else f"{token[:40]!r}..."
    if token.isspace():
        yield "note", "tokens that are white space", shown
    elif token != token.strip():
        yield "warning", "tokens with white space at an end", shown
    elif any(character.isspace() for character in token):
        yield "note", "tokens with white space inside", shown
    if token == REPLACEMENT_TOKEN:
        yield "note", "tokens that stand for an empty or unreadable one", shown
    elif "\ufffd" in token:
        yield "warning", "tokens with U+FFFD, the mark of a character lost earlier", shown
    odd = sorted({one for one in token if _is_invisible(one)})
    if odd:
        names = ", ".join(_name(character) for character in odd[:5])
        yield "note", "tokens with invisible characters, kept as they are", f"{shown} ({names})"
    if len(token) > LONG_TOKEN:
        yield "note", f"tokens of more than {LONG_TOKEN} characters", f"{len(token)}: {shown}"
    if not unicodedata.is_normalized("NFC", token):
        kind = "tokens in a decomposed form (not NFC): unlike the same letters composed"
        yield "note", kind, shown


def _is_invisible(character: str) -> bool:
    category = unicodedata.category(character)
    return category == "Cc" or (category == "Cf" and character not in _USUAL_JOINERS)


def _name(character: str) -> str:
    name = unicodedata.name(character, "")
    return f"U+{ord(character):04X}{' ' if name else ''}{name}"
