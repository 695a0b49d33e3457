"""What is correct whatever was handed in: captions, or one clear sentence, in bounded time."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple

from operators.errors import InputError, UsageError


class Subject(NamedTuple):
    """Something that reads what others wrote."""

    #: Reads the bytes, with a folder to put them into; raises for any answer that is not correct.
    check: Callable[[bytes, Path], None]
    #: Inputs that are valid, or nearly so.
    seeds: tuple[bytes, ...]
    #: What inputs are made of.
    tokens: tuple[bytes, ...]
    #: Inputs that were answered wrongly once, by what is wrong with them.
    found: dict[str, bytes]
    #: Seconds of processor time that an input of some kilobytes may take, on a slow machine.
    longest_s: float = 3.0

    def ask(self, data: bytes, folder: Path) -> None:
        """Check one input, and that it takes no longer than it may."""
        began_s = time.thread_time()
        self.check(data, folder)
        took_s = time.thread_time() - began_s
        assert took_s < self.longest_s, f"{len(data)} bytes took {took_s:.1f} s"


@contextmanager
def refused_clearly(path: Path) -> Iterator[None]:
    """Whatever is done with a file succeeds, or ends with a sentence that names it; all else gets through."""
    try:
        yield
    except (InputError, UsageError) as error:
        sentence = str(error)
        assert str(path) in sentence, sentence
        assert sentence.isprintable(), sentence
        assert len(sentence) - len(str(path)) < 2000, sentence


def written(folder: Path, name: str, data: bytes) -> Path:
    """The data as a file."""
    path = folder / name
    path.write_bytes(data)
    return path


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
