"""What is odd between the files of a corpus: shared sentences, new words, unsteady labels."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from bilstm_crf.corpus.file_check import CheckedFile, Surface
from bilstm_crf.corpus.findings import Findings, Place
from bilstm_crf.corpus.sentence_text import join_tokens
from bilstm_crf.corpus.token_check import TokenUse

RARE_TYPE = 10
"""A type with fewer training entities is called rare."""


def training_files(files: Sequence[CheckedFile]) -> list[CheckedFile]:
    """Return the files of the split ``train``, or the first file where no split is called so."""
    return [file for file in files if file.split == "train"] or list(files[:1])


def compare_splits(files: Sequence[CheckedFile]) -> Findings:
    """Find what is odd between training files and the others."""
    findings = Findings()
    train = training_files(files)
    others = [file for file in files if file not in train]
    _rare_types(train, findings)
    for file in others:
        _shared_sentences(train, file, findings)
        _types_apart(train, file, findings)
        _new_characters(train, file, findings)
    return findings


def _rare_types(train: Sequence[CheckedFile], findings: Findings) -> None:
    counts = sum((file.types for file in train), Counter[str]())
    for name, count in sorted(counts.items(), key=lambda item: item[1]):
        if count < RARE_TYPE:
            file = next(file for file in train if name in file.types)
            place = Place(str(file.path), file.type_lines[name], f"{name}: {count}")
            findings.add("warning", f"types with fewer than {RARE_TYPE} training entities", place)


def _shared_sentences(train: Sequence[CheckedFile], file: CheckedFile, findings: Findings) -> None:
    for known in train:
        for key, (line, labels, times) in file.sentences.items():
            if key not in known.sentences:
                continue
            train_line, train_labels, _ = known.sentences[key]
            place = Place(str(file.path), line, f"also {known.path}:{train_line}")
            kind = f"sentences of {file.split} that are in {known.split} too"
            findings.add("warning", kind, place, times)
            if labels != train_labels:
                kind = f"sentences labelled one way in {known.split}, another in {file.split}"
                findings.add("warning", kind, place)


def _types_apart(train: Sequence[CheckedFile], file: CheckedFile, findings: Findings) -> None:
    learned = {name for known in train for name in known.types}
    for name, count in file.types.items():
        if name not in learned:
            place = Place(str(file.path), file.type_lines[name], f"{name}: {count} entities")
            findings.add("warning", f"types in {file.split} that training never sees", place)
    for name in sorted(learned - set(file.types)):
        place = Place(str(file.path), None, name)
        findings.add("note", f"types of training that {file.split} does not have", place)


def _new_characters(train: Sequence[CheckedFile], file: CheckedFile, findings: Findings) -> None:
    learned = {character for known in train for token in known.tokens for character in token}
    new: dict[str, TokenUse] = {}
    for token, use in file.tokens.items():
        for character in set(token) - learned:
            first = new.setdefault(character, TokenUse(0, use.line))
            first.count += use.count
    for character, use in sorted(new.items(), key=lambda item: -item[1].count):
        place = Place(str(file.path), use.line, f"{character!r}, {use.count} tokens")
        findings.add("note", f"characters in {file.split} that training never sees", place)


def unseen_shares(
    files: Sequence[CheckedFile], wanted: Mapping[str, Iterable[str]]
) -> dict[str, dict[str, float]]:
    """Return by split which share of its tokens is not among known words.

    Args:
        files: the checked files.
        wanted: sets of known words by name.
    """
    shares: dict[str, dict[str, float]] = {}
    for split in dict.fromkeys(file.split for file in files):
        counts: Counter[str] = Counter()
        for file in files:
            if file.split == split:
                counts.update({token: use.count for token, use in file.tokens.items()})
        total = max(1, counts.total())
        shares[split] = {
            name: sum(count for token, count in counts.items() if token not in words) / total
            for name, words in wanted.items()
        }
    return shares


def merged_surfaces(files: Sequence[CheckedFile]) -> dict[Surface, Counter[str]]:
    """Return the entities of all files: number by surface and type."""
    merged: dict[Surface, Counter[str]] = {}
    for file in files:
        for surface, types in file.surfaces.items():
            counts = merged.setdefault(surface, Counter())
            counts.update({name: use.count for name, use in types.items()})
    return merged


def check_surfaces(
    files: Sequence[CheckedFile],
    surfaces: Mapping[Surface, Counter[str]],
    unlabelled: Counter[Surface],
) -> Findings:
    """Find entities with several types, and those that also stand unlabelled."""
    findings = Findings()
    ambiguous = [(surface, types) for surface, types in surfaces.items() if len(types) > 1]
    for surface, types in sorted(ambiguous, key=lambda item: -item[1].total()):
        counts = ", ".join(f"{name} {count}" for name, count in types.most_common())
        place = _first_place(files, surface, f"{join_tokens(surface)[0]!r}: {counts}")
        findings.add("note", "entities labelled with several types", place)
    for surface, count in unlabelled.most_common():
        labelled = surfaces[surface].total()
        detail = f"{join_tokens(surface)[0]!r}: {labelled} times labelled, {count} times not"
        place = _first_place(files, surface, detail)
        findings.add("note", "entities that also stand unlabelled", place)
    return findings


def _first_place(files: Sequence[CheckedFile], surface: Surface, detail: str) -> Place:
    file = next(file for file in files if surface in file.surfaces)
    first = min(use.line or 0 for use in file.surfaces[surface].values())
    return Place(str(file.path), first or None, detail)
