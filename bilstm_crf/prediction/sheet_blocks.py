"""Where a stream can be cut if it is a sheet: its sentences need not end at empty lines."""

from pathlib import Path

from bilstm_crf.corpus.data_section import ReaderSettings
from bilstm_crf.corpus.layout import Layout
from bilstm_crf.corpus.layout_detection import detect_layout
from bilstm_crf.errors import DataError
from bilstm_crf.prediction.line_blocks import LastEnd, last_sentence_end

HEAD_BYTES = 1 << 14
"""How much of a file its columns are found from."""


def layout_of(head: bytes, settings: ReaderSettings, path: Path) -> Layout:
    """Find the columns of a file with or without labels from its beginning.

    Args:
        head: the beginning as UTF-8, without byte order mark; more than ``HEAD_BYTES`` of it
            are not looked at.
        settings: what is known of the columns.
        path: the file, for messages.

    Raises:
        DataError: a column that the settings name is not in the file.
    """
    lines = head[: head.find(b"\n", HEAD_BYTES) + 1] or head
    text = lines.decode("utf-8", "replace").replace("\r\n", "\n")
    return detect_layout(text, settings, path, labelled=False)


def sentence_ends(head: bytes, settings: ReaderSettings, path: Path) -> LastEnd:
    """Return what finds the ends of sentences in a file of token lines.

    Args:
        head: what has arrived of the file; perhaps less than a line.
        settings: what is known of the columns.
        path: the file.
    """
    try:
        layout = layout_of(head[: head.rfind(b"\n") + 1], settings, path)
    except DataError:
        return last_sentence_end  # whoever reads the rows says what is wrong
    return _SheetEnds(layout) if layout.is_sheet else last_sentence_end


class _SheetEnds:
    """Finds the last place in a sheet where a sentence has ended: a :data:`LastEnd`."""

    def __init__(self, layout: Layout):
        self._layout = layout

    def __call__(self, pending: bytearray, searched: int) -> int:
        """Return where the last sentence ends that another or a blank row follows."""
        end = pending.rfind(b"\n") + 1
        begins, last = 0, ""
        while end > (searched if self._layout.sentence is None else 0):
            start = pending.rfind(b"\n", 0, end - 1) + 1
            line = pending[start:end].decode("utf-8", "surrogateescape").rstrip("\r\n")
            if self._layout.is_blank(line):
                return begins if last else end
            number = self._layout.sentence_number(self._layout.split(line))
            if number and last and number != last:
                return begins
            if number:
                begins, last = start, number
            end = start
        return 0
