"""The output of another process comes as it is written."""

import os
from collections.abc import Iterator
from typing import IO

import pytest

from connectors.audio.pipe import PipeReader

LONG_S = 30.0


@pytest.fixture
def pipe() -> Iterator[tuple[PipeReader, IO[bytes]]]:
    ours, theirs = os.pipe()
    with os.fdopen(theirs, "wb", buffering=0) as written:
        yield PipeReader(os.fdopen(ours, "rb")), written


def test_what_was_written_is_read_without_waiting_for_more(pipe: tuple[PipeReader, IO[bytes]]) -> None:
    reader, written = pipe
    written.write(b"half a word")
    assert reader.read(4, LONG_S) == b"half"
    assert reader.read(100, LONG_S) == b" a word"
    assert reader.read(100, 0.01) is None


def test_the_end_is_told_again_and_again(pipe: tuple[PipeReader, IO[bytes]]) -> None:
    reader, written = pipe
    written.write(b"last")
    written.close()
    assert [reader.read(100, LONG_S) for _ in range(3)] == [b"last", b"", b""]
