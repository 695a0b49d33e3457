"""What is correct whatever was handed in: captions, or one clear sentence, in bounded time."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
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
    path = folder / name
    path.write_bytes(data)
    return path
