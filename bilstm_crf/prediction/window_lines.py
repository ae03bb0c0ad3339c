"""Token lines in whole windows: what a model that reads documents must see at once.

A block of lines ends where it happens to; a window, only where the next one begins. So the last
window of a block waits for the next block.
"""

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np

from bilstm_crf.corpus.context import first_sentences
from bilstm_crf.corpus.data_section import ReaderSettings
from bilstm_crf.prediction.token_lines import TokenLineReader, TokenLines

logger = logging.getLogger(__name__)


class WindowLineReader(TokenLineReader):
    """Reads one file block by block like its base, and gives whole windows.

    Args:
        path: the file, for messages.
        settings: what is known of its columns.
        most_tokens: of a window.
    """

    def __init__(self, path: Path, settings: ReaderSettings, most_tokens: int):
        super().__init__(path, settings)
        self._most_tokens = most_tokens
        self._waiting: TokenLines | None = None
        self._num_documents = self._num_windows = 0

    def read(self, block: bytes) -> TokenLines:
        """Find the tokens of what was held back and of the next whole sentences.

        Raises:
            DataError: as in the base class.
        """
        found = super().read(block)
        self._num_documents += len(found.documents)
        if self._waiting is not None:
            found = _joined(self._waiting, found)
        opens = np.isin(found.starts[:-1], found.documents)
        windows = first_sentences(np.diff(found.starts), opens, self._most_tokens)
        last = int(windows[-2]) if len(windows) > 1 else 0
        self._num_windows += max(0, len(windows) - 2)
        ready, self._waiting = _parted(found, last)
        return ready

    def finish(self) -> TokenLines | None:
        """Return what is held back once all blocks are read."""
        if self._num_documents < 2 and self._num_windows:
            message = "%s: no marks of documents (-DOCSTART-, # newdoc); it is read as one document"
            logger.warning(message, self._path)
        waiting, self._waiting = self._waiting, None
        return waiting


def line_reader(
    path: Path, settings: ReaderSettings, context_tokens: int | None
) -> TokenLineReader:
    """Return what reads the token lines of a file for a model.

    Args:
        path: the file, for messages.
        settings: what is known of its columns.
        context_tokens: most tokens of a window, or None for a model that reads single sentences.
    """
    if context_tokens is None:
        return TokenLineReader(path, settings)
    return WindowLineReader(path, settings, context_tokens)


def _joined(first: TokenLines, second: TokenLines) -> TokenLines:
    """Return two stretches of lines, the first with a line end behind it, as one."""
    lines = [*first.lines[:-1], *second.lines]
    offset, tokens = len(first.lines) - 1, len(first.tokens)
    header = second.header
    return TokenLines(
        lines=lines,
        line_ends=[*_ends(first)[:-1], *_ends(second)],
        heads=[*first.heads[:-1], *second.heads],
        tokens=[*first.tokens, *second.tokens],
        places=np.concatenate([first.places, second.places + offset]),
        starts=np.concatenate([first.starts[:-1], second.starts + tokens]),
        columns={
            name: [*values, *second.columns.get(name, ())] for name, values in first.columns.items()
        }
        or second.columns,
        first_line=first.first_line,
        mark=first.mark,
        header=first.header if header is None else header + offset,
        documents=np.concatenate([first.documents, second.documents + tokens]),
    )


def _parted(found: TokenLines, sentence: int) -> tuple[TokenLines, TokenLines]:
    """Return the lines before a sentence and the others; the line end between is the first's."""
    token = int(found.starts[sentence])
    line = int(found.places[token - 1]) + 1 if token else 0
    ends = _ends(found)
    before = replace(
        found,
        lines=[*found.lines[:line], b""],
        line_ends=[*ends[:line], b""],
        heads=[*found.heads[:line], b""],
        tokens=found.tokens[:token],
        places=found.places[:token],
        starts=found.starts[: sentence + 1],
        columns={name: values[:token] for name, values in found.columns.items()},
        documents=found.documents[found.documents < token],
        header=found.header if found.header is not None and found.header < line else None,
    )
    after = replace(
        found,
        lines=found.lines[line:],
        line_ends=ends[line:],
        heads=found.heads[line:],
        tokens=found.tokens[token:],
        places=found.places[token:] - line,
        starts=found.starts[sentence:] - token,
        columns={name: values[token:] for name, values in found.columns.items()},
        first_line=found.first_line + line,
        documents=found.documents[found.documents >= token] - token,
        header=found.header - line if found.header is not None and found.header >= line else None,
        mark=b"" if line else found.mark,
    )
    return (before if line else replace(before, mark=b"")), after


def _ends(found: TokenLines) -> list[bytes]:
    """Return the line end of each line."""
    if not isinstance(found.line_ends, bytes):
        return list(found.line_ends)
    return [found.line_ends] * (len(found.lines) - 1) + [b""]
