"""What an input to predict on is: token lines, running text or JSON lines, from its beginning."""

import re

from bilstm_crf.corpus.layout import BLANK, DOCUMENT_MARK
from bilstm_crf.corpus.schemes import OUTSIDE, is_entity_label
from bilstm_crf.corpus.sheet_detection import sheet_delimiter

INPUT_FORMATS = ("auto", "tokens", "text", "jsonl")

_HEAD_BYTES = 1 << 14
_SENTENCE_ENDS = ".!?…。！？"
_CLOSING = "\"'”’»)]』」"


def detect_input_format(head: bytes) -> str:
    """Return ``jsonl``, ``text`` or ``tokens`` for the beginning of an input.

    JSON lines begin with a brace and a quote. Lines are running text if not one of them has a
    tab, is a single word or ends in a label, and they either differ in their number of words, more
    than four on average, or all end like sentences. Everything else is a token a line, as are
    sheets of commas or semicolons.
    """
    text = head[:_HEAD_BYTES].decode("utf-8", "replace").removeprefix("\ufeff")
    if re.match(r'\s*\{[ \t]*["}]', text):
        return "jsonl"
    lines = [line.strip(BLANK) for line in text.split("\n") if line.strip(BLANK)]
    if len(lines) > 1 and not text.endswith("\n"):
        lines.pop()  # cut off somewhere
    if not lines or any(map(_is_row, lines)) or sheet_delimiter(lines, labelled=False):
        return "tokens"
    widths = [len(line.split()) for line in lines]
    varied = len(set(widths)) > 1 and sum(widths) > 4 * len(widths)
    sentences = all(line.rstrip(_CLOSING).endswith(tuple(_SENTENCE_ENDS)) for line in lines)
    return "text" if varied or sentences else "tokens"


def _is_row(line: str) -> bool:
    words = line.split(" ")
    if "\t" in line or len(words) == 1 or words[0] == DOCUMENT_MARK:
        return True
    return words[-1] == OUTSIDE or is_entity_label(words[-1])
