"""Columns of a file as they are typed on the command line."""

from bilstm_crf.corpus.data_section import Column


def parse_column(text: str) -> Column:
    """Read a whole number as a place, anything else as a name or ``auto``."""
    return int(text) if text.lstrip("-").isdecimal() else text
