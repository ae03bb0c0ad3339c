"""Swapped entities: what a copy of the corpus keeps, and what it changes."""

from typing import Any

import numpy as np
import pytest

from bilstm_crf.corpus.encoding import EncodedCorpus, encode
from bilstm_crf.corpus.label_ids import learn_labels
from bilstm_crf.corpus.labels import LabelsSection, labels_to_spans
from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.training.swapped_entities import EntitySwapper

SENTENCES = [
    Sentence(("Ada", "met", "Bob", "Lee"), ("B-PER", "O", "B-PER", "I-PER")),
    Sentence(("it", "rains"), ("O", "O")),
    Sentence(("New", "York", "Oslo", "called"), ("B-LOC", "I-LOC", "B-LOC", "O")),
    Sentence(("so", "did", "Ada"), ("O", "O", "B-PER")),
]
SPELLINGS = {"PER": {"Ada", "Bob Lee"}, "LOC": {"New York", "Oslo"}}


def corpus(scheme: str, sentences: list[Sentence] = SENTENCES, **options: Any) -> EncodedCorpus:
    return learn_labels(encode(sentences, **options), LabelsSection(model_scheme=scheme)).corpus


def skeleton(tokens: list[str], labels: list[str], scheme: str) -> list[str]:
    """The words outside entities, and the types of the entities, in order."""
    begins = {span.start: span for span in labels_to_spans(labels, scheme)}
    inside = {n for span in begins.values() for n in range(span.start, span.end)}
    return [
        begins[n].type if n in begins else tokens[n]
        for n in range(len(tokens))
        if n in begins or n not in inside
    ]


def read(made: EncodedCorpus) -> list[tuple[list[str], list[str]]]:
    return list(zip(made.sentence_tokens(), made.sentence_labels(), strict=True))


@pytest.mark.parametrize("scheme", ["BIO", "BIOES", "IOB1"])
def test_only_entities_change_and_only_to_others_of_their_type(scheme: str) -> None:
    original = corpus(scheme)
    swapper = EntitySwapper(original, scheme, 0.5)
    seen: set[tuple[str, ...]] = set()
    for epoch in range(40):
        made = swapper.corpus((1, epoch))
        assert len(made) == len(original)
        for (before, old), (after, new) in zip(read(original), read(made), strict=True):
            assert skeleton(after, new, scheme) == skeleton(before, old, scheme)
            for span in labels_to_spans(new, scheme):
                assert " ".join(after[span.start : span.end]) in SPELLINGS[span.type]
            seen.add(tuple(after))
    assert len(seen) > len(SENTENCES) + 3


def test_the_seed_decides() -> None:
    swapper = EntitySwapper(corpus("BIO"), "BIO", 0.7)
    copies = [swapper.corpus((5, epoch)).form_ids.tolist() for epoch in (1, 2, 3, 1)]
    assert copies[0] == copies[3]
    assert copies[0] != copies[1] or copies[1] != copies[2]


def test_the_share_is_that_of_the_replaced() -> None:
    names = [Sentence((f"name{n}", "x"), ("B-PER", "O")) for n in range(2000)]
    original = corpus("BIO", names)
    made = EntitySwapper(original, "BIO", 0.3).corpus((1, 1))
    changed = np.mean(made.form_ids != original.form_ids) * 2
    assert abs(changed - 0.3) < 0.04
    assert EntitySwapper(original, "BIO", 0.0).corpus((1, 1)) is original


def test_rare_and_frequent_entities_are_equally_likely() -> None:
    many = [Sentence(("Oslo",), ("B-LOC",))] * 300 + [Sentence(("Rome",), ("B-LOC",))]
    original = corpus("BIO", many)
    made = EntitySwapper(original, "BIO", 1.0).corpus((1, 1))
    share = np.mean(np.array(made.forms)[made.form_ids] == "Rome")
    assert 0.4 < share < 0.6


def test_extra_columns_come_along() -> None:
    tagged = [
        Sentence(s.tokens, s.labels, features={"pos": tuple(t.upper() for t in s.tokens)})
        for s in SENTENCES
    ]
    made = EntitySwapper(corpus("BIO", tagged, feature_names=["pos"]), "BIO", 1.0).corpus((1, 1))
    values, ids = made.features["pos"]
    assert [values[n] for n in ids] == [made.forms[n].upper() for n in made.form_ids]


def test_a_corpus_without_entities_stays_as_it_is() -> None:
    plain = corpus("BIO", [Sentence(("it", "rains"), ("O", "O")), SENTENCES[0]])
    only_outside = EncodedCorpus(
        plain.forms,
        plain.form_ids[:2],
        plain.labels,
        plain.label_ids[:2],
        plain.starts[:2],  # type: ignore[index]
    )
    assert EntitySwapper(only_outside, "BIO", 1.0).corpus((1, 1)) is only_outside
