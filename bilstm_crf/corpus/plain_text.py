"""Reads running text: a sentence a line, or split into sentences, cut into tokens."""

from collections.abc import Iterable, Iterator

from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.corpus.tokenizer import TokenUnit, split_sentences, tokenize


def read_plain_text(
    chunks: Iterable[str], path: str, *, unit: TokenUnit = "words", split: bool = False
) -> Iterator[Sentence]:
    """Yield the sentences of a text file, with their text and the offsets of the tokens.

    Args:
        chunks: the text, in pieces of whole lines.
        path: the file, for ``Sentence.path``.
        unit: what a token is.
        split: split each line into sentences; otherwise a line is a sentence. Lines
            without any token give no sentence.
    """
    line = 0
    for chunk in chunks:
        for text in chunk.removesuffix("\n").split("\n"):
            line += 1
            pieces = split_sentences(text) if split else [(0, len(text))]
            opens = True
            for start, end in pieces:
                piece = text[start:end]
                if offsets := tokenize(piece, unit):
                    yield sentence_of_text(piece, offsets, path, line, opens_document=opens)
                    opens = False


def sentence_of_text(
    text: str,
    offsets: list[tuple[int, int]],
    path: str = "",
    line: int | None = None,
    labels: tuple[str, ...] | None = None,
    *,
    opens_document: bool = False,
) -> Sentence:
    """Return the sentence of a text cut into tokens, all on one line of a file."""
    return Sentence(
        tokens=tuple([text[start:end] for start, end in offsets]),
        labels=labels,
        path=path,
        lines=() if line is None else (line,) * len(offsets),
        text=text,
        offsets=tuple(offsets),
        opens_document=opens_document,
    )
