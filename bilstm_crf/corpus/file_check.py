"""One file of a corpus, read for a check: its facts, its faults, and what others need of it."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bilstm_crf.corpus.data_section import ReaderSettings
from bilstm_crf.corpus.findings import Findings, Place
from bilstm_crf.corpus.labels import (
    OUTSIDE,
    LabelsSection,
    SchemeDetection,
    detect_scheme,
    invalid_positions,
    labels_to_spans,
    repair_labels,
)
from bilstm_crf.corpus.line_check import check_lines
from bilstm_crf.corpus.malformed import Malformed
from bilstm_crf.corpus.readers import inspect_file, read_sentences
from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.corpus.sentence_text import join_tokens
from bilstm_crf.corpus.token_check import TokenUse, check_tokens

Surface = tuple[str, ...]


@dataclass
class CheckedFile:
    """What a check knows of one file.

    Attributes:
        path: the file.
        split: the part of the corpus it belongs to, such as ``train``.
        read_as: format and columns, as a phrase.
        encoding: text encoding.
        scheme: detected or given label scheme, with the evidence.
        num_tokens: all tokens.
        lengths: number of sentences by their number of tokens.
        max_length: tokens of the longest sentence.
        longest_line: line of the longest sentence.
        types: number of entities by type.
        type_lines: line of the first entity of each type.
        surfaces: number of entities by surface (its tokens) and type, with the first line.
        tokens: distinct tokens.
        sentences: for each distinct sentence (hash of its tokens) its first line, the
            hash of its labels there and how often it occurs.
        sequences: distinct label sequences with their counts.
        findings: faults and oddities of this file alone.
    """

    path: Path
    split: str
    read_as: str = ""
    encoding: str = "utf-8"
    scheme: SchemeDetection = field(default_factory=lambda: SchemeDetection("BIO", "no entities"))
    num_tokens: int = 0
    lengths: Counter[int] = field(default_factory=Counter)
    max_length: int = 0
    longest_line: int | None = None
    types: Counter[str] = field(default_factory=Counter)
    type_lines: dict[str, int | None] = field(default_factory=dict)
    surfaces: dict[Surface, dict[str, TokenUse]] = field(default_factory=dict)
    tokens: defaultdict[str, TokenUse] = field(default_factory=lambda: defaultdict(TokenUse))
    sentences: dict[int, tuple[int | None, int, int]] = field(default_factory=dict)
    sequences: Counter[tuple[str, ...]] = field(default_factory=Counter)
    findings: Findings = field(default_factory=Findings)

    @property
    def num_sentences(self) -> int:
        """All sentences."""
        return self.lengths.total()

    @property
    def num_entities(self) -> int:
        """All entities."""
        return self.types.total()

    def length_quantiles(self) -> dict[str, int]:
        """Return quantiles of the sentence lengths in tokens; empty without sentences."""
        if not self.lengths:
            return {}
        marks = {"min": 0.0, "median": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
        ordered = sorted(self.lengths.items())
        quantiles: dict[str, int] = {}
        for name, share in marks.items():
            seen = 0
            for length, count in ordered:
                seen += count
                if name not in quantiles and seen >= share * self.num_sentences:
                    quantiles[name] = length
        return quantiles

    def as_dict(self) -> dict[str, Any]:
        """Return the facts and findings as plain values."""
        return {
            "path": str(self.path),
            "split": self.split,
            "read_as": self.read_as,
            "encoding": self.encoding,
            "scheme": self.scheme.scheme,
            "scheme_evidence": self.scheme.evidence,
            "sentences": self.num_sentences,
            "tokens": self.num_tokens,
            "entities": self.num_entities,
            "types": dict(sorted(self.types.items())),
            "distinct_tokens": len(self.tokens),
            "sentence_length": self.length_quantiles(),
            "longest_sentence_line": self.longest_line,
            "findings": [finding.as_dict() for finding in self.findings.sorted()],
        }


def check_file(
    path: Path, split: str, settings: ReaderSettings, labels: LabelsSection
) -> CheckedFile:
    """Read a file, mending what is malformed, and note everything about it.

    Raises:
        DataError: the file cannot be read at all.
    """
    settings = replace(settings, on_malformed="repair")
    _, layout = inspect_file(path, settings)
    checked = CheckedFile(path, split, encoding=settings.encoding)
    checked.findings = check_lines(path, settings.encoding, layout)
    for sentence in _read(checked, settings):
        _take_note(checked, sentence)
    if labels.scheme == "auto":
        checked.scheme = detect_scheme(checked.sequences)
        if not checked.scheme.is_certain and checked.types:
            place = Place(str(path), None, f"{checked.scheme.scheme}: {checked.scheme.evidence}")
            checked.findings.add("warning", "the labels fit no scheme without exceptions", place)
    else:
        checked.scheme = SchemeDetection(labels.scheme, "as configured")
    if not checked.types:
        checked.findings.add("warning", "no entities", Place(str(path)))
    check_tokens(str(path), checked.tokens, checked.findings)
    return checked


def _read(checked: CheckedFile, settings: ReaderSettings) -> Iterator[Sentence]:
    def on_malformed(place: Malformed) -> None:
        at = Place(place.path, place.line, place.message, place.repair)
        checked.findings.add("error", f"rows or documents with {place.kind}", at)

    def describe(phrase: str) -> None:
        checked.read_as = phrase
        _, _, marked = phrase.partition(":")[0].partition(" in ")
        checked.encoding = marked or checked.encoding

    return read_sentences(checked.path, settings, listener=on_malformed, describe=describe)


def _take_note(checked: CheckedFile, sentence: Sentence) -> None:
    tokens, labels = sentence.tokens, sentence.labels or ()
    line = sentence.lines[0] if sentence.lines else None
    checked.num_tokens += len(tokens)
    if len(tokens) > checked.max_length:
        checked.max_length, checked.longest_line = len(tokens), line
    checked.lengths[len(tokens)] += 1
    uses = checked.tokens
    for token, at in zip(tokens, sentence.lines, strict=False):
        use = uses[token]
        if not use.count:
            use.line = at
        use.count += 1
    first, labels_there, times = checked.sentences.get(hash(tokens), (line, hash(labels), 0))
    checked.sentences[hash(tokens)] = (first, labels_there, times + 1)
    if times and hash(labels) != labels_there:
        detail = f"as in line {first}: {join_tokens(tokens)[0][:80]}"
        place = Place(sentence.path, line, detail)
        checked.findings.add("warning", "a sentence again, with other labels", place)
    checked.sequences[labels] += 1
    for span in labels_to_spans(labels):
        checked.types[span.type] += 1
        at_line = sentence.lines[span.start] if sentence.lines else None
        checked.type_lines.setdefault(span.type, at_line)
        surface = checked.surfaces.setdefault(tokens[span.start : span.end], {})
        use = surface.setdefault(span.type, TokenUse(0, at_line))
        use.count += 1


def check_again(
    checked: CheckedFile,
    settings: ReaderSettings,
    surfaces: Mapping[Surface, int],
) -> Counter[Surface]:
    """Read a checked file once more for what needs knowledge of the whole corpus.

    Adds the malformed label sequences to its findings.

    Args:
        checked: the file, changed.
        settings: how to read it.
        surfaces: entities of the corpus that are looked for where they are unlabelled.

    Returns:
        How often each surface stands unlabelled.
    """
    scheme = checked.scheme.scheme
    malformed = {
        sequence: faults
        for sequence in checked.sequences
        if (faults := invalid_positions(sequence, scheme))
    }
    longest_by_first: dict[str, int] = {}
    for surface in surfaces:
        longest = longest_by_first.get(surface[0], 0)
        longest_by_first[surface[0]] = max(longest, len(surface))
    unlabelled: Counter[Surface] = Counter()
    settings = replace(settings, on_malformed="repair")
    for sentence in read_sentences(checked.path, settings, describe=_ignore, listener=_ignore):
        sequence = sentence.labels or ()
        for index, reason in malformed.get(sequence, ()):
            _note_malformed(checked, sentence, index, reason)
        for index, token in enumerate(sentence.tokens):
            if token in longest_by_first and sequence[index] == OUTSIDE:
                longest = longest_by_first[token]
                unlabelled.update(_unlabelled(sentence, index, longest, surfaces))
    return unlabelled


def _ignore(_: object) -> None:
    """Take no note: the first reading has."""


def _note_malformed(checked: CheckedFile, sentence: Sentence, index: int, reason: str) -> None:
    scheme = checked.scheme.scheme
    repaired = repair_labels(sentence.labels or (), scheme)[index]
    line = sentence.lines[index] if sentence.lines else None
    detail = f"{sentence.tokens[index]!r}: {reason}"
    place = Place(sentence.path, line, detail, repaired)
    checked.findings.add("error", f"labels that are malformed in {scheme}", place)


def _unlabelled(
    sentence: Sentence, index: int, longest: int, surfaces: Mapping[Surface, int]
) -> Iterator[Surface]:
    """Yield the surfaces that begin, all unlabelled, at a token."""
    labels = sentence.labels or ()
    for length in range(1, longest + 1):
        end = index + length
        if end > len(labels) or labels[end - 1] != OUTSIDE:
            return
        surface = sentence.tokens[index:end]
        if surface in surfaces:
            yield surface
