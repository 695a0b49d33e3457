"""Waiting for asynchronous results, which take long on a busy machine."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def until(
    what: Callable[[], T], within_s: float = 60.0, *, tell: Callable[[], object] = lambda: "nothing came"
) -> T:
    """The first result that is true; ``tell`` describes the state if none comes."""
    deadline = time.monotonic() + within_s
    while not (found := what()):
        assert time.monotonic() < deadline, tell()
        time.sleep(0.01)
    return found


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def wait_for(path: Path, what: str) -> None:
    """Until a file that is being written contains ``what``."""
    until(lambda: path.exists() and what in path.read_text(), tell=lambda: size(path) and path.read_text())
