"""What is odd about the lines of a file, before anything is read from them."""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bilstm_crf.corpus.byte_order import encoding_of, is_wide
from bilstm_crf.corpus.findings import Findings, Place
from bilstm_crf.corpus.layout import BLANK, DOCUMENT_MARK, Layout
from bilstm_crf.corpus.text_source import read_bytes, read_text

_BLANK_WITH_SPACE = re.compile(f"^[{BLANK}]+$", re.MULTILINE)
_HASH = re.compile(r"^#.*$", re.MULTILINE)
_DOCUMENT_MARK = re.compile(f"^{re.escape(DOCUMENT_MARK)}.*$", re.MULTILINE)
_ONLY_SPACES = re.compile(r"^[^\t\n#-][^\t\n]* [^\t\n]*$", re.MULTILINE)
_TAB = re.compile(r"\t")
_SENTENCE_END = re.compile(r"(?<=[\t|,])EndOfSentence$", re.MULTILINE)
_FLAG_HINT = "data.sentence_end: EndOfSentence splits there"
_NAMES = {" ": "space", "\t": "tab", "\r": "carriage return", "\f": "form feed", "\v": "line tab"}


@dataclass
class LineEnds:
    """The line ends of a file.

    Attributes:
        line_feeds: lines that end in a line feed.
        with_return: those of them with a carriage return before it.
        has_mark: the file begins with a byte order mark.
        is_complete: the last line has its end.
    """

    line_feeds: int = 0
    with_return: int = 0
    has_mark: bool = False
    is_complete: bool = True


def read_line_ends(path: Path, encoding: str = "utf-8") -> LineEnds:
    """Count the line ends of a file, gzipped or not."""
    ends = LineEnds()
    last = b""
    decoder: codecs.IncrementalDecoder | None = None
    for data in read_bytes(path):
        if not last:
            marked = encoding_of(data, encoding, path)
            ends.has_mark = data.startswith(codecs.BOM_UTF8) or marked != encoding
            if is_wide(marked):
                decoder = codecs.getincrementaldecoder(marked)("replace")
        if decoder is not None:
            data = decoder.decode(data).encode("utf-8", "replace")
        ends.line_feeds += data.count(b"\n")
        ends.with_return += (last + data).count(b"\r\n")
        last = data[-1:]
    ends.is_complete = last in (b"", b"\n")
    return ends


def check_lines(path: Path, encoding: str, layout: Layout | None) -> Findings:
    """Find what is odd about the lines of a file.

    Args:
        path: the file.
        encoding: its text encoding.
        layout: its columns, or None for a file with no token a line.
    """
    findings = Findings()
    name = str(path)
    ends = read_line_ends(path, encoding)
    if ends.with_return:
        kind = "lines end in carriage return and line feed (Windows)"
        detail = f"{ends.with_return} of {ends.line_feeds} lines"
        mixed = ends.with_return < ends.line_feeds
        findings.add("note", kind, Place(name, None, detail + " (mixed)" * mixed), ends.with_return)
    if ends.has_mark:
        findings.add("note", "the file begins with a byte order mark", Place(name, 1))
    if not ends.is_complete:
        findings.add("note", "the last line has no line end", Place(name, ends.line_feeds + 1))
    if layout is not None:
        _RowCheck(path, layout, findings).run(encoding)
    return findings


class _RowCheck:
    """Looks at the lines of a columns file that are no plain rows."""

    def __init__(self, path: Path, layout: Layout, findings: Findings):
        self._path, self._layout, self._findings = path, layout, findings
        self._line = 1

    def run(self, encoding: str) -> None:
        """Look at the whole file."""
        first_tab = first_spaces = 0
        for chunk in read_text(self._path, encoding):
            for line, text in self._matches(_BLANK_WITH_SPACE, chunk):
                detail = ", ".join(_NAMES[character] for character in text[:5])
                self._add("blank lines that hold white space, read as blank", line, detail)
            for line, text in self._matches(_DOCUMENT_MARK, chunk):
                kind = f"{DOCUMENT_MARK} lines: no tokens, but borders of sentences"
                self._add(kind, line, text)
            for line, text in self._matches(_HASH, chunk):
                is_comment = self._layout.is_comment(text)
                kind = "comment lines" if is_comment else "rows that begin with #, read as tokens"
                self._add(kind, line, text)
            for line, text in self._matches(_SENTENCE_END, chunk):
                self._add(f"flags of sentence ends ({_FLAG_HINT})", line, text)
            first_tab = first_tab or self._first(_TAB, chunk)
            first_spaces = first_spaces or self._first(_ONLY_SPACES, chunk)
            self._line += chunk.count("\n")
        if self._layout.delimiter == " " and first_tab and first_spaces:
            detail = f"first tab in line {first_tab}, first row of spaces in this"
            self._add("tabs and runs of spaces both set columns apart", first_spaces, detail)

    def _matches(self, pattern: re.Pattern[str], chunk: str) -> Iterator[tuple[int, str]]:
        """Yield the line and the text of each match in a chunk."""
        line, at = self._line, 0
        for match in pattern.finditer(chunk):
            line, at = line + chunk.count("\n", at, match.start()), match.start()
            yield line, match[0]

    def _first(self, pattern: re.Pattern[str], chunk: str) -> int:
        """Return the line of the first match in a chunk, 0 if there is none."""
        return next((line for line, _ in self._matches(pattern, chunk)), 0)

    def _add(self, kind: str, line: int, detail: str) -> None:
        self._findings.add("note", kind, Place(str(self._path), line, detail[:80]))
