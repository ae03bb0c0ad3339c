from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bilstm_crf.evaluation.alignment import ErrorClass, align

entities = st.lists(
    st.tuples(st.integers(0, 6), st.integers(1, 3), st.sampled_from("AB")), max_size=5
).map(lambda found: sorted({(start, start + size, kind) for start, size, kind in found}))


@pytest.mark.parametrize(
    ("gold", "predicted", "expected"),
    [
        ([(0, 2, "A")], [(0, 2, "A")], ["correct"]),
        ([(0, 2, "A")], [(0, 2, "B")], ["wrong type"]),
        ([(0, 2, "A")], [(1, 3, "A")], ["wrong boundary"]),
        ([(0, 2, "A")], [(1, 3, "B")], ["wrong type and boundary"]),
        ([(0, 2, "A")], [], ["missed"]),
        ([], [(0, 2, "A")], ["spurious"]),
        ([(0, 2, "A")], [(2, 3, "A")], ["missed", "spurious"]),
        # one prediction over two gold entities answers only one of them
        ([(0, 1, "A"), (1, 3, "A")], [(0, 3, "A")], ["missed", "wrong boundary"]),
        # an equal pair goes before one that merely overlaps
        ([(0, 2, "A"), (0, 3, "A")], [(0, 3, "A")], ["missed", "correct"]),
        # the same boundaries go before the same type
        ([(0, 2, "A")], [(0, 2, "B"), (0, 3, "A")], ["wrong type", "spurious"]),
    ],
)
def test_pairs_fall_into_the_expected_classes(gold, predicted, expected):
    assert sorted(pair.error_class for pair in align(gold, predicted)) == sorted(expected)


@given(gold=entities, predicted=entities)
def test_every_entity_is_in_exactly_one_pair(gold, predicted):
    pairs = align(gold, predicted)
    assert Counter(p.gold for p in pairs if p.gold) == Counter(gold)
    assert Counter(p.predicted for p in pairs if p.predicted) == Counter(predicted)
    correct = sum(p.error_class == ErrorClass.CORRECT for p in pairs)
    assert correct == len(set(gold) & set(predicted))
    firsts = [min(e[0] for e in (p.gold, p.predicted) if e) for p in pairs]
    assert firsts == sorted(firsts)
