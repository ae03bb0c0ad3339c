"""Entities as seqeval itself finds them: the only module that imports seqeval.

It is imported when first needed: scikit-learn comes with it and takes about a second.
"""

import warnings
from collections.abc import Callable, Sequence

from bilstm_crf.corpus.labels import scheme_name
from bilstm_crf.evaluation.entities import Entity
from bilstm_crf.evaluation.letters import to_bioes_letters

Finder = Callable[[Sequence[str]], list[Entity]]

_STRICT_CLASSES = {
    # seqeval has no IO; its IOB1 without any B is the same
    "IO": "IOB1",
    "IOB1": "IOB1",
    "BIO": "IOB2",
    "BIOES": "IOBES",
    # renamed to the letters of BIOES before seqeval sees them
    "BMES": "IOBES",
    "BILOU": "IOBES",
}


def strict_finder(scheme: str) -> Finder:
    """Return a function that finds entities by seqeval's strict mode.

    Strict mode counts only entities that are complete by the scheme (in BIO one that
    begins with B; in BIOES one that also ends with E or is S). A label with a letter that the
    scheme lacks makes seqeval stop; here it is read as O.
    """
    import seqeval.scheme

    scheme_class = getattr(seqeval.scheme, _STRICT_CLASSES[scheme_name(scheme)])
    rename = to_bioes_letters(scheme)
    letters = {flag.name for flag in scheme_class.allowed_prefix}

    def find(labels: Sequence[str]) -> list[Entity]:
        known = [label if label[:1] in letters else "O" for label in rename(labels)]
        if known.count("O") == len(known):
            return []
        tokens = seqeval.scheme.Tokens(known, scheme=scheme_class)
        return [(entity.start, entity.end, entity.tag) for entity in tokens.entities]

    return find


def default_finder(scheme: str) -> Finder:
    """Return a function that finds entities by seqeval's default mode."""
    from seqeval.metrics.sequence_labeling import get_entities

    rename = to_bioes_letters(scheme)

    def find(labels: Sequence[str]) -> list[Entity]:
        known = list(rename(labels))
        if known.count("O") == len(known):
            return []
        with warnings.catch_warnings():
            # it warns of letters it does not know; such labels are counted as illegal anyway
            warnings.simplefilter("ignore")
            found = get_entities(known)
        return [(first, last + 1, entity_type) for entity_type, first, last in found]

    return find
