"""From running text to sentences of tokens with true offsets into that text."""

from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.corpus.tokenizer import TokenUnit, split_sentences, tokenize


def sentences_of(text: str, unit: TokenUnit) -> list[Sentence]:
    """Return the sentences of a text; their offsets count from the beginning of the whole text.

    Args:
        text: anything; white space is in no token.
        unit: what the model's tokens are.
    """
    sentences = []
    for start, end in split_sentences(text):
        cuts = tokenize(text[start:end], unit)
        if cuts:
            offsets = tuple([(start + a, start + b) for a, b in cuts])
            sentences.append(
                Sentence(tokens=tuple([text[a:b] for a, b in offsets]), text=text, offsets=offsets)
            )
    return sentences
