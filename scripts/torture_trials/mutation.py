"""How data is spoilt: bytes, archives and text."""

import io
import random
import zipfile

ODD_TEXT = (
    "\x00", "\r", "\r\n", "\x0b", "\x1b[31m", "\u2028", "\ufeff", "\u200d", "\u202e", "é",
    "e\u0301", "👩\u200d🚀", "中文", "\ud7ff", "\U0010ffff", "\t", "  ", "\n\n", "\n", " ", "O",
    "-DOCSTART-", "B-", "B-X", "I-PER", "S-LOC", "#", "{", "}", "[", "]", ":", "&a", "*a", "|", ">",
    "!!python/name:os.system", "1e999", "-1", "0", "9" * 40, "true", "null", "~", ".inf",
    "x" * 3000, '{"text": ', '"', "'", "\\",
)  # fmt: skip
"""Text that a program may stumble over."""


def spoil_bytes(data: bytes, rng: random.Random) -> bytes:
    """Return the bytes with bits flipped, blocks cut out, doubled, moved or overwritten."""
    spoilt = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        if not spoilt:
            break
        at, size = rng.randrange(len(spoilt)), rng.choice((1, 4, 64, 1024))
        kind = rng.randrange(7)
        if kind == 0:
            spoilt[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            spoilt[at] = rng.randrange(256)
        elif kind == 2:
            del spoilt[at : at + size]
        elif kind == 3:
            del spoilt[at:]
        elif kind == 4:
            spoilt[at:at] = rng.randbytes(size)
        elif kind == 5:
            spoilt[at:at] = spoilt[rng.randrange(len(spoilt)) :][:size]
        else:
            spoilt[at : at + size] = bytes(len(spoilt[at : at + size]))
    return bytes(spoilt)


def spoil_archive(data: bytes, rng: random.Random) -> bytes:
    """Return a ZIP archive with one entry spoilt and all checksums right again."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        entries = old.infolist()
        # The pickle is what decides; the tensors are only numbers.
        pickles = [number for number, entry in enumerate(entries) if "data.pkl" in entry.filename]
        chosen = rng.choice([*pickles * len(entries), *range(len(entries))])
        for number, entry in enumerate(entries):
            content = old.read(entry)
            if number == chosen:
                content = spoil_bytes(content, rng)
            new.writestr(entry, content)
    return buffer.getvalue()


def spoil_text(text: str, rng: random.Random) -> str:
    """Return text with odd characters and words put in, and lines cut, doubled or moved."""
    lines = text.split("\n")
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(lines))
        line, odd = lines[at], rng.choice(ODD_TEXT)
        place = rng.randrange(len(line) + 1)
        kind = rng.randrange(8)
        if kind == 0:
            lines[at] = line[:place] + odd + line[place:]
        elif kind == 1:
            lines[at] = odd
        elif kind == 2:
            lines[at] = line[:place]
        elif kind == 3:
            lines.insert(rng.randrange(len(lines)), line)
        elif kind == 4:
            lines[at] = " " * rng.randrange(5) + line
        elif kind == 5:
            words = line.split(" ")
            words[rng.randrange(len(words))] = odd
            lines[at] = " ".join(words)
        elif kind == 6:
            lines[at] = line.swapcase()
        else:
            del lines[at]
            lines = lines or [""]
    return "\n".join(lines)
