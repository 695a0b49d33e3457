"""Inputs that are nearly valid: most of what reads them has to be passed to reach its last step."""

import re
from random import Random

from tests.fuzz.correct import Subject

# A number, a word or a text; else a single byte.
_PART = re.compile(rb'"[^"\n]*"|[\w.+-]+|.', re.DOTALL)
_MAX_CHANGES = 5


def mutated(data: bytes, subject: Subject, random: Random) -> bytes:
    """The data with a few of its parts replaced, doubled, moved or taken away; one in most cases."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 3, _MAX_CHANGES))):
        start, end = _span(changed, random)
        match random.randrange(8):
            case 0:
                new = changed[start:end] * 2
            case 1:
                new = bytearray()
            case 2:
                new = bytearray(random.randbytes(random.randrange(9)))
            case 3:
                first, last = _span(changed, random)
                new = changed[first:last]
            case _:
                new = bytearray(random.choice(subject.tokens))
        changed[start:end] = new
    return bytes(changed)


def _span(data: bytearray, random: Random) -> tuple[int, int]:
    """A part, or a run of bytes that begins anywhere."""
    at = random.randrange(len(data) + 1)
    if random.random() < 0.7 and (part := _PART.search(data, at)):
        return part.span()
    return at, min(len(data), at + random.choice((0, 0, 1, 2, 4, 8, 40, len(data))))
