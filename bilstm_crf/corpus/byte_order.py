"""Unicode files that say their encoding themselves, by a byte order mark."""

import codecs
from pathlib import Path

from bilstm_crf.errors import DataError

# The mark of UTF-32 begins with that of UTF-16.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def is_wide(encoding: str) -> bool:
    """Return whether a character takes several bytes, so that ASCII text has zero bytes."""
    return any(width in encoding for width in ("16", "32"))


def encoding_of(head: bytes, encoding: str, path: Path) -> str:
    """Return the encoding of a text: that of its mark where UTF-8 was expected.

    Args:
        head: its first bytes.
        encoding: what it is said to be.
        path: the file, for messages.

    Raises:
        DataError: the mark speaks against another encoding that was given.
    """
    marked = next((name for mark, name in _MARKS.items() if head.startswith(mark)), "")
    if not marked or is_wide(encoding):
        return encoding
    if encoding.lower().replace("_", "-") not in ("utf-8", "utf8", "utf-8-sig"):
        message = f"begins with the mark of {marked}, but data.encoding is {encoding}"
        raise DataError(f"{message}; leave it out or set it to {marked}", path)
    return marked


def as_utf8(head: bytes, encoding: str) -> bytes:
    """Return the beginning of a text as UTF-8, to be looked at: what does not fit is replaced."""
    try:
        return head.decode(encoding, "replace").encode("utf-8", "replace")
    except LookupError:
        return head  # whoever reads on says that the encoding is unknown
