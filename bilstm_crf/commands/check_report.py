"""The findings of a corpus check as plain text."""

from collections.abc import Iterator, Sequence

from bilstm_crf.corpus.checks import CorpusCheck
from bilstm_crf.corpus.file_check import CheckedFile
from bilstm_crf.corpus.findings import Finding

PLACES_SHOWN = 5
"""Places shown of each finding; all of them (to a limit) are in the JSON."""


def report_text(result: CorpusCheck) -> str:
    """Return a report for people: a table of the files, then the findings, worst first."""
    lines = list(_table(_overview(result)))
    for file in result.files:
        lines += ["", str(file.path), *(f"  {line}" for line in _lines_of(file))]
    if result.between:
        lines += ["", "the corpus as a whole"]
        lines += [f"  {line}" for finding in result.between for line in _lines(finding)]
    if result.unseen:
        names = list(next(iter(result.unseen.values())))
        shares = [
            [split, *(f"{100 * share:.2f} %" for share in shares.values())]
            for split, shares in result.unseen.items()
        ]
        lines += ["", *_table([["tokens not among", *names], *shares])]
    lines += ["", f"{result.num_errors} errors, {result.num_warnings} warnings"]
    return "\n".join(map(_printable, lines)) + "\n"


def _printable(line: str) -> str:
    """Escape what could move the cursor or hide: control and invisible characters."""
    if line.isprintable():
        return line
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in line)


def _overview(result: CorpusCheck) -> list[list[str]]:
    head = ["file", "split", "sentences", "tokens", "entities", "scheme", "encoding"]
    rows = [
        [
            str(file.path),
            file.split,
            f"{file.num_sentences:,}",
            f"{file.num_tokens:,}",
            f"{file.num_entities:,}",
            file.scheme.scheme,
            file.encoding,
        ]
        for file in result.files
    ]
    return [head, *rows]


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows as columns, the first two left-aligned, the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if number < 2 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def _lines_of(file: CheckedFile) -> Iterator[str]:
    yield f"read as {file.read_as}"
    yield f"scheme {file.scheme.scheme} ({file.scheme.evidence})"
    if file.types:
        types = (f"{name} {count:,}" for name, count in file.types.most_common())
        yield f"types: {', '.join(types)}"
    if file.lengths:
        quantiles = (f"{name} {value}" for name, value in file.length_quantiles().items())
        place = f"the longest begins in line {file.longest_line}"
        yield f"tokens of a sentence: {', '.join(quantiles)} ({place})"
    for finding in file.findings.sorted():
        yield from _lines(finding)


def _lines(finding: Finding) -> Iterator[str]:
    yield f"{finding.severity}: {finding.kind} ({finding.count:,})"
    yield from (f"    {place}" for place in finding.places[:PLACES_SHOWN])
    if len(finding.places) > PLACES_SHOWN:
        yield "    ..."
