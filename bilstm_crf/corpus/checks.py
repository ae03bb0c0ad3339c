"""The data doctor: what a corpus is, what is wrong with it and where."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bilstm_crf.corpus.data_section import ReaderSettings
from bilstm_crf.corpus.file_check import CheckedFile, Surface, check_again, check_file
from bilstm_crf.corpus.findings import Finding, count_severity
from bilstm_crf.corpus.labels import LabelsSection
from bilstm_crf.corpus.split_check import (
    check_surfaces,
    compare_splits,
    merged_surfaces,
    training_files,
    unseen_shares,
)
from bilstm_crf.corpus.vectors import read_vectors
from bilstm_crf.corpus.vocabulary import lookup_keys

_SPLIT_NAMES = {
    "train": ("train", "trn"),
    "dev": ("dev", "devel", "valid", "validation", "val", "testa"),
    "test": ("test", "testb", "eval"),
}


@dataclass(frozen=True)
class CorpusCheck:
    """What a check found out about a corpus.

    Attributes:
        files: each file with its own findings.
        between: findings between files and about the whole.
        unseen: by split, the share of its tokens that training has not seen: as they
            stand and, where there are vectors, in no spelling among the vectors' words.
    """

    files: list[CheckedFile]
    between: list[Finding]
    unseen: dict[str, dict[str, float]]

    @property
    def findings(self) -> list[Finding]:
        """All findings, file by file, then those between files."""
        return [f for file in self.files for f in file.findings.sorted()] + self.between

    @property
    def num_errors(self) -> int:
        """Places that are errors."""
        return count_severity(self.findings, "error")

    @property
    def num_warnings(self) -> int:
        """Places that are warnings."""
        return count_severity(self.findings, "warning")

    def as_dict(self) -> dict[str, Any]:
        """Return all as plain values."""
        return {
            "files": [file.as_dict() for file in self.files],
            "findings": [finding.as_dict() for finding in self.between],
            "unseen": self.unseen,
            "errors": self.num_errors,
            "warnings": self.num_warnings,
        }


def split_of(path: Path) -> str:
    """Return the split that a file's name speaks of, else its name."""
    words = set(path.name.lower().replace("_", ".").replace("-", ".").split("."))
    for split, names in _SPLIT_NAMES.items():
        if words.intersection(names):
            return split
    return path.name


def check_corpus(
    splits: Sequence[tuple[str, Path]],
    settings: ReaderSettings | None = None,
    labels: LabelsSection | None = None,
    vectors: Sequence[Path] = (),
) -> CorpusCheck:
    """Read all files and find what is wrong or odd in and between them.

    Args:
        splits: the files, each with the split it belongs to.
        settings: how to read them.
        labels: label scheme and what to do about malformed sequences.
        vectors: files of word vectors whose coverage is of interest.

    Raises:
        DataError: a file cannot be read at all.
    """
    settings, labels = settings or ReaderSettings(), labels or LabelsSection()
    files = [check_file(path, split, settings, labels) for split, path in splits]
    surfaces = merged_surfaces(files)
    # One occurrence may be chance; entities seen twice should be found everywhere.
    wanted = {surface: n for surface, types in surfaces.items() if (n := types.total()) > 1}
    unlabelled: Counter[Surface] = Counter()
    for file in files:
        unlabelled.update(check_again(file, settings, wanted))
    between = compare_splits(files).sorted()
    between += check_surfaces(files, surfaces, unlabelled).sorted()
    return CorpusCheck(files, between, _unseen(files, vectors))


def _unseen(files: Sequence[CheckedFile], vectors: Sequence[Path]) -> dict[str, dict[str, float]]:
    known: dict[str, set[str]] = {}
    if len(files) > 1:
        known["train words"] = {word for file in training_files(files) for word in file.tokens}
    forms = {token for file in files for token in file.tokens}
    keys = {key for form in forms for key in lookup_keys(form)}
    for path in vectors:
        rows = set(read_vectors(path, wanted=keys.__contains__).words)
        for number, rule in enumerate(("exact", "or lower case", "or digits as 0"), 1):
            hit = {form for form in forms if not rows.isdisjoint(lookup_keys(form)[:number])}
            known[f"{path.name}, {rule}"] = hit
    return unseen_shares(files, known) if known else {}
