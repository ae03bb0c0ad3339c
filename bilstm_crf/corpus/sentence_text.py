"""The running text of a sentence that came as tokens, and where each token is in it."""

import re
from collections.abc import Sequence

from bilstm_crf.corpus.sentence import Sentence, Span
from bilstm_crf.corpus.tokenizer import HAN_AND_KANA

_UNSPACED = re.compile(f"(?<=[{HAN_AND_KANA}。、，！？：；]) (?=[{HAN_AND_KANA}。、，！？：；])")
_HAS_UNSPACED = re.compile(f"[{HAN_AND_KANA}]")


def text_and_offsets(sentence: Sentence) -> tuple[str, Sequence[tuple[int, int]]]:
    """Return the text of a sentence and the character offsets of its tokens.

    A sentence cut from a text gives that text. Otherwise the tokens are joined: by
    nothing if white space is among them (Korean and Thai character data); by nothing
    between two Han characters or kana, else by a space.
    """
    if sentence.text is not None and sentence.offsets is not None:
        return sentence.text, sentence.offsets
    return join_tokens(sentence.tokens)


def join_tokens(tokens: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """Join tokens to a text and return it with the offsets of the tokens."""
    joined = " ".join(tokens)
    if joined.isascii():
        between = [" "] * len(tokens) if " " not in tokens else [""] * len(tokens)
    elif any(token.isspace() for token in tokens):
        between = [""] * len(tokens)
    elif _HAS_UNSPACED.search(joined):
        pairs = zip(tokens, [*tokens[1:], "a"], strict=True)
        between = ["" if _UNSPACED.search(f"{one[-1:]} {two[:1]}") else " " for one, two in pairs]
    else:
        between = [" "] * len(tokens)
    offsets: list[tuple[int, int]] = []
    pieces: list[str] = []
    at = 0
    for token, space in zip(tokens, between, strict=True):
        offsets.append((at, at + len(token)))
        pieces += (token, space)
        at += len(token) + len(space)
    return "".join(pieces[:-1]), offsets


def character_spans(
    spans: Sequence[Span], offsets: Sequence[tuple[int, int]]
) -> list[tuple[int, int, Span]]:
    """Return for each span, counted in tokens, its first and past-last character."""
    return [(offsets[span.start][0], offsets[span.end - 1][1], span) for span in spans]
