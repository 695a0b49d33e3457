"""Runs a command that takes minutes, and says how far it is instead of all that it prints.

On a terminal that is one line that changes; elsewhere a line now and then. What the command printed is shown
when it fails. Only the standard library: it runs before anything is installed.
"""

import re
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TextIO

#: Seconds between two lines where each stays.
EVERY_S = 15.0
_TAIL_LINES = 60


class Line:
    """The line that says how far it is."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._out, self._clock = out, clock
        self._is_terminal = out.isatty()
        self._said_s = -EVERY_S
        self._last = ""

    def say(self, text: str) -> None:
        """Say ``text`` in place of what was said last, or not at all where it is too early for a line."""
        if self._is_terminal:
            self._write(f"\r\x1b[Ksetup: {text}")
        elif self._clock() - self._said_s >= EVERY_S:
            self._said_s = self._clock()
            self._write(f"setup: {text}\n")
        self._last = text

    def end(self, text: str) -> None:
        """Say the last of it, which stays."""
        self._write(f"\r\x1b[Ksetup: {text}\n" if self._is_terminal else f"setup: {text}\n")

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


class Wheels:
    """How far pip is with installing wheels."""

    def __init__(self, total: int) -> None:
        self._total, self._seen, self._megabytes = total, 0, 0.0

    def __call__(self, line: str) -> str | None:
        """What a line of pip's output says; None for nothing."""
        line = line.strip()
        if line.startswith("Collecting "):
            self._seen += 1
        elif size := re.search(r"^(?:Downloading|Using cached) .*\(([\d.]+) (kB|MB)\)", line):
            self._megabytes += float(size[1]) / (1000 if size[2] == "kB" else 1)
        elif line.startswith("Installing collected"):
            return f"unpacking {self._seen} packages"
        else:
            return None
        return f"fetching packages: {self._seen} of {self._total}, {self._megabytes:.0f} MB"


class Compiling:
    """How far ninja is with compiling."""

    def __init__(self, what: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._what, self._clock = what, clock
        self._began_s: float | None = None

    def __call__(self, line: str) -> str | None:
        """What a line of ninja's output says; None for nothing."""
        step = re.match(r"\s*\[(\d+)/(\d+)\]", line)
        if step is None:
            return None
        done, total = int(step[1]), int(step[2])
        if self._began_s is None:
            self._began_s = self._clock()
        share = done / total
        left_s = (self._clock() - self._began_s) * (1 - share) / share
        left = f", about {left_s / 60:.0f} min left" if left_s > 90 else ""
        return f"compiling {self._what}: {done} of {total}{left if done > 4 else ''}"


def run(command: Sequence[str], reads: Callable[[str], str | None], line: Line) -> tuple[int, list[str]]:
    """Run ``command`` and say what ``reads`` makes of its lines; its exit status, and its last lines."""
    tail: deque[str] = deque(maxlen=_TAIL_LINES)
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace",
    ) as process:  # fmt: skip
        assert process.stdout is not None
        for printed in process.stdout:
            tail.append(printed.rstrip())
            if said := reads(printed):
                line.say(said)
    return process.returncode, list(tail)


def main() -> None:
    """``progress.py WHEELS COMMAND…``: run pip, which is to install so many wheels."""
    line = Line(sys.stderr)
    status, tail = run(sys.argv[2:], Wheels(int(sys.argv[1])), line)
    if status:
        line.end("this failed:")
        print(*tail, sep="\n", file=sys.stderr)
    else:
        line.end("packages are there")
    sys.exit(status)


if __name__ == "__main__":
    main()
