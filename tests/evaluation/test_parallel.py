import pytest

from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.errors import DataError
from bilstm_crf.evaluation.parallel import side_by_side


def sentences(path: str, *rows: str) -> list[Sentence]:
    found, line = [], 1
    for row in rows:
        tokens = tuple(row.split())
        found.append(Sentence(tokens, path=path, lines=range(line, line + len(tokens))))
        line += len(tokens) + 1
    return found


def test_equal_files_are_walked_in_pairs():
    gold, other = sentences("g", "a b", "c"), sentences("p", "a b", "c")
    assert list(side_by_side(gold, other)) == list(zip(gold, other, strict=True))


@pytest.mark.parametrize(
    ("gold", "other", "message"),
    [
        (["a b", "c d"], ["a b", "c x"], "p:5: token 'x', but 'd' at g:5"),
        (["a b c"], ["a b"], "g:3: the sentence goes on with 'c', but it ends after p:2"),
        (["a b"], ["a b c"], "p:3: the sentence goes on with 'c', but it ends after g:2"),
        (["a", "b"], ["a"], "g:3: one more sentence, but the other file ends after p:1"),
        (["a"], ["a", "b"], "p:3: one more sentence, but the other file ends after g:1"),
        ([], ["a"], "p:1: one more sentence, but the other file has no sentence"),
    ],
)
def test_the_first_difference_is_named(gold: list[str], other: list[str], message: str):
    with pytest.raises(DataError, match=message):
        list(side_by_side(sentences("g", *gold), sentences("p", *other)))
