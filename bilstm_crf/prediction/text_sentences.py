"""From running text to sentences of tokens with true offsets into that text."""

from collections.abc import Callable
from functools import partial

from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.corpus.tokenizer import TokenUnit, split_sentences, tokenize

Tokenizer = Callable[[str], list[tuple[int, int]]]
"""Returns the half-open character offsets of the tokens of a text."""


def sentences_of(text: str, unit: TokenUnit | Tokenizer) -> list[Sentence]:
    """Return the sentences of a text; their offsets count from the beginning of the whole text.

    The first of them opens a document.

    Args:
        text: anything; white space is in no token.
        unit: what the model's tokens are, or what cuts a sentence into them.
    """
    cut: Tokenizer = unit if callable(unit) else partial(tokenize, mode=unit)
    sentences: list[Sentence] = []
    for start, end in split_sentences(text):
        cuts = cut(text[start:end])
        if cuts:
            offsets = tuple([(start + a, start + b) for a, b in cuts])
            tokens = tuple([text[a:b] for a, b in offsets])
            opens = not sentences
            sentences.append(Sentence(tokens, text=text, offsets=offsets, opens_document=opens))
    return sentences
