"""A stream that gives a few bytes at a time, as a slow pipe does."""

import io


class Trickle(io.RawIOBase):
    """Gives a few bytes at a time."""

    def __init__(self, data: bytes, size: int):
        self._data, self._size = io.BytesIO(data), size

    def read1(self, size: int) -> bytes:
        return self._data.read(min(size, self._size))
