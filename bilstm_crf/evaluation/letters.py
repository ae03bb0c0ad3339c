"""Prefix letters of the label schemes, renamed token by token to those a scorer knows.

Renaming never looks at neighbours: a malformed row stays as malformed as it was.
"""

from collections.abc import Callable, Mapping, Sequence

from bilstm_crf.corpus.labels import scheme_name

Rename = Callable[[Sequence[str]], Sequence[str]]

_TO_BIOES: Mapping[str, Mapping[str, str]] = {
    "BMES": {"M": "I"},
    "BILOU": {"L": "E", "U": "S"},
}
_TO_BIO: Mapping[str, Mapping[str, str]] = {
    "BIOES": {"E": "I", "S": "B"},
    "BMES": {"M": "I", "E": "I", "S": "B"},
    "BILOU": {"L": "I", "U": "B"},
}


def to_bioes_letters(scheme: str) -> Rename:
    """Return a function that renames BMES and BILOU labels to B, I, E, S; others stay."""
    return _renamer(_TO_BIOES.get(scheme_name(scheme), {}))


def to_bio_letters(scheme: str) -> Rename:
    """Return a function that renames BIOES, BMES and BILOU labels to B, I; others stay."""
    return _renamer(_TO_BIO.get(scheme_name(scheme), {}))


def _renamer(letters: Mapping[str, str]) -> Rename:
    if not letters:
        return lambda labels: labels
    known: dict[str, str] = {}

    def rename(labels: Sequence[str]) -> list[str]:
        for label in set(labels).difference(known):
            prefix, hyphen, entity_type = label.partition("-")
            known[label] = letters.get(prefix, prefix) + hyphen + entity_type
        return [known[label] for label in labels]

    return rename
