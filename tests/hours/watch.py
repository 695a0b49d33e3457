"""One process, watched from outside: what it holds and uses, once a second, and what of that may grow."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import NamedTuple, Self

#: By what share each quantity may grow from the first third of a run to its last.
MAY_GROW = {"resident MiB": 0.03, "descriptors": 0.0, "threads": 0.0, "CPU ms an update": 0.10}
#: Share of a run that may be needed to become warm.
WARM = 0.1
#: Values without which nothing can be said, and at how many moments they are taken at most.
MIN_VALUES, MAX_VALUES = 3, 120
_EVERY_S = 1.0
_TICKS = os.sysconf("SC_CLK_TCK")


class Sample(NamedTuple):
    """A process at one moment."""

    #: Seconds on a clock, and seconds of processors that it used.
    wall_s: float
    cpu_s: float
    #: Lines that it has written into its log.
    updates: int
    resident_mib: float
    descriptors: int
    threads: int


class Watch:
    """Looks at a process once a second; in a ``with`` block, or until the process ends (Linux).

    Args:
        process: Its number.
        log: The erasure log that it writes, which need not be there yet.
    """

    def __init__(self, process: int, log: Path) -> None:
        self._folder = Path("/proc") / str(process)
        self._log = log
        self._offset = self._updates = 0
        self._is_over = Event()
        self._thread = Thread(target=self._look, daemon=True)
        self.samples: list[Sample] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_how: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        # Of a process that is over, its folder or what is in it is gone.
        with suppress(OSError, KeyError):
            while not self._is_over.wait(_EVERY_S):
                self.samples.append(self._sample())
                if len(self.samples) % 60 == 1:
                    print(_row(self.samples[0], self.samples[-1]), flush=True)

    def _sample(self) -> Sample:
        status = dict(line.split(":", 1) for line in (self._folder / "status").read_text().splitlines())
        # The name of the program, in brackets, may hold spaces.
        times = (self._folder / "stat").read_text().rpartition(")")[2].split()
        return Sample(
            wall_s=monotonic(),
            cpu_s=(int(times[11]) + int(times[12])) / _TICKS,
            updates=self._logged(),
            resident_mib=int(status["VmRSS"].split()[0]) / 1024,
            descriptors=len(list((self._folder / "fd").iterdir())),
            threads=int(status["Threads"]),
        )

    def _logged(self) -> int:
        if self._log.exists():
            with self._log.open("rb") as file:
                file.seek(self._offset)
                new = file.read()
            self._offset += len(new)
            self._updates += new.count(b"\n")
        return self._updates


def _row(first: Sample, now: Sample) -> str:
    return (
        f"{now.wall_s - first.wall_s:6.0f} s  {now.updates:7} updates  {now.resident_mib:7.1f} MiB  "
        f"{now.descriptors:3} descriptors  {now.threads:3} threads"
    )


def series(samples: Sequence[Sample]) -> dict[str, list[float]]:
    """What was seen of a run when it was warm, by quantity."""
    warm = samples[int(WARM * len(samples)) :: max(1, len(samples) // MAX_VALUES)]
    return {
        "resident MiB": [one.resident_mib for one in warm],
        "descriptors": [one.descriptors for one in warm],
        "threads": [one.threads for one in warm],
        "CPU ms an update": [
            1000 * (after.cpu_s - before.cpu_s) / (after.updates - before.updates)
            for before, after in pairwise(warm)
            if after.updates > before.updates
        ],
    }


def growth(values: Sequence[float]) -> float:
    """How much more the last third of values is than the first, as a share.

    By the lower quartiles: other programs can only make a moment dearer than it is.
    """
    third = len(values) // 3
    first, last = (sorted(part)[third // 4] for part in (values[:third], values[-third:]))
    return last / first - 1


def faults(seen: Mapping[str, Sequence[float]]) -> list[str]:
    """What grew by more than it may, in sentences; what did not is printed."""
    found = []
    for name, most in MAY_GROW.items():
        values = seen[name]
        if len(values) < MIN_VALUES:
            found.append(f"{len(values)} values are too few to tell whether {name} grew")
            continue
        share = growth(values)
        print(
            f"{name}: {min(values):.1f} to {max(values):.1f}, {share:+.1%} from the first third to the last"
        )
        if share > most:
            found.append(f"{name} grew by {share:.1%}, more than {most:.0%}")
    return found
