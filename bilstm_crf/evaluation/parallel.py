"""Two files about the same tokens, walked side by side; the first place where they differ."""

from collections.abc import Iterable, Iterator
from itertools import zip_longest

from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.errors import DataError


def side_by_side(
    first: Iterable[Sentence], second: Iterable[Sentence]
) -> Iterator[tuple[Sentence, Sentence]]:
    """Yield the sentences of two files in pairs, once they are seen to be the same.

    Raises:
        DataError: a token differs, or one file or sentence is longer than the other; names
            the first place in both.
    """
    last: tuple[Sentence, Sentence] | None = None
    for one, other in zip_longest(first, second):
        if one is None or other is None:
            raise _ends_early(last, one, other)
        if one.tokens != other.tokens:
            raise _differs(one, other)
        last = one, other
        yield one, other


def _differs(one: Sentence, other: Sentence) -> DataError:
    for index, (token, other_token) in enumerate(zip(one.tokens, other.tokens, strict=False)):
        if token != other_token:
            return DataError(
                f"{other.where(index)}: token {other_token!r}, but {token!r} at "
                f"{one.where(index)}; the files must hold the same tokens in the same order"
            )
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    index = len(shorter)
    return DataError(
        f"{longer.where(index)}: the sentence goes on with {longer.tokens[index]!r}, but it "
        f"ends after {shorter.where(index - 1)}; the files must have the same sentences"
    )


def _ends_early(
    last: tuple[Sentence, Sentence] | None, one: Sentence | None, other: Sentence | None
) -> DataError:
    extra = one or other
    shorter = None if last is None else last[1 if other is None else 0]
    end = "has no sentence" if shorter is None else f"ends after {shorter.where(len(shorter) - 1)}"
    place = "" if extra is None else f"{extra.where()}: "
    return DataError(
        f"{place}one more sentence, but the other file {end}; "
        "the files must have the same sentences"
    )
