"""Which label scheme a corpus is written in, with the evidence."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bilstm_crf.corpus.schemes import OUTSIDE, split_label


@dataclass(frozen=True)
class SchemeDetection:
    """A detected scheme.

    Attributes:
        scheme: a key of ``SCHEMES``.
        evidence: the counts that led to it, as a phrase for the log.
        is_certain: False if the corpus fits several schemes or none exactly.
    """

    scheme: str
    evidence: str
    is_certain: bool = True


def detect_scheme(
    sequences: Iterable[Sequence[str]] | Mapping[tuple[str, ...], int],
) -> SchemeDetection:
    """Find the scheme of a corpus from its label sequences.

    The prefixes decide where they can (E or S: BIOES; M: BMES; L or U: BILOU; I alone:
    IO). With B and I the beginnings decide: in BIO every entity begins with B, in IOB1
    only one that directly follows another of its type; the more frequent kind of
    beginning wins.

    Args:
        sequences: label sequences, or their counts.
    """
    pairs = sequences.items() if isinstance(sequences, Mapping) else ((one, 1) for one in sequences)
    prefixes: Counter[str] = Counter()
    begins_with_i = needless_b = 0
    for labels, count in pairs:
        if labels.count(OUTSIDE) == len(labels):
            continue
        previous_type = ""
        for label in labels:
            prefix, entity_type = split_label(label)
            if prefix != OUTSIDE:
                prefixes[prefix] += count
                if entity_type != previous_type:
                    begins_with_i += count * (prefix == "I")
                    needless_b += count * (prefix == "B")
            previous_type = entity_type
    found = ", ".join(f"{prefix}- {prefixes[prefix]}" for prefix in sorted(prefixes))
    if not prefixes:
        return SchemeDetection("BIO", "no entities", is_certain=False)
    known = set(prefixes)
    if known & {"L", "U"}:
        return SchemeDetection("BILOU", found, known <= set("BILU"))
    if "M" in known:
        return SchemeDetection("BMES", found, known <= set("BMES"))
    if known & {"E", "S"}:
        return SchemeDetection("BIOES", found, known <= set("BIES"))
    if known == {"I"}:
        return SchemeDetection("IO", found)
    if known == {"B"}:
        return SchemeDetection("BIO", found)
    starts = f"{found}; entities not after one of their type begin {needless_b} times with B-"
    evidence = f"{starts}, {begins_with_i} times with I-"
    scheme = "IOB1" if begins_with_i > needless_b else "BIO"
    return SchemeDetection(scheme, evidence, not (begins_with_i and needless_b))
