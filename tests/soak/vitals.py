"""What a process holds and has used, from Linux' /proc, at every hundredth of its work."""

import json
import os
from pathlib import Path
from time import monotonic
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")


class Sample(NamedTuple):
    """A process at one moment."""

    #: How much of its work was done: segments that ended, and updates.
    segments: int
    updates: int
    #: Seconds on a clock, and seconds of processors that it used.
    wall_s: float
    cpu_s: float
    #: Resident memory in KiB, and what of it no file holds.
    resident: int
    private: int
    descriptors: int
    threads: int


class Progress:
    """How far a run is, by the erasure log that it writes."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._offset = 0
        self.segments = 0
        self.updates = 0

    def look(self) -> None:
        """Count what is new in the log."""
        if not self._log.exists():
            return
        with self._log.open("rb") as file:
            file.seek(self._offset)
            new, end, _ = file.read().rpartition(b"\n")
        self._offset += len(new) + len(end)
        self.updates += new.count(b"\n") + len(end)
        # A sentence has the number of its first segment.
        ended = [line for line in new.splitlines() if b'"is_final":true' in line]
        if ended:
            self.segments = 1 + int(json.loads(ended[-1])["segment"])


def sample(process: int, progress: Progress) -> Sample:
    """Look at a process that is running.

    Raises:
        OSError: when there is none.
    """
    folder = Path("/proc") / str(process)
    status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
    # The name of the program, in brackets, may hold spaces.
    times = (folder / "stat").read_text().rpartition(")")[2].split()
    return Sample(
        segments=progress.segments,
        updates=progress.updates,
        wall_s=monotonic(),
        cpu_s=(int(times[11]) + int(times[12])) / _TICKS,
        resident=_kib(status["VmRSS"]),
        private=_kib(status["RssAnon"]),
        descriptors=len(list((folder / "fd").iterdir())),
        threads=int(status["Threads"]),
    )


def _kib(value: str) -> int:
    return int(value.split()[0])
