"""The memory of whoever translates: as the metrics of another process tell it, and over time."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Event as Flag
from threading import Thread
from time import monotonic
from urllib.request import urlopen

from operators.errors import InputError

#: Seconds since a load began, and megabytes.
Samples = list[tuple[float, float]]

_MEMORY = re.compile(r"^process_resident_memory_bytes (\S+)", re.MULTILINE)


def told_memory_mb(metrics: str) -> float | None:
    """Megabytes of memory, by the metrics at an address; None if the system does not report them.

    Raises:
        InputError: when there are no metrics.
    """
    try:
        with urlopen(metrics, timeout=5) as answer:
            found = _MEMORY.search(answer.read().decode())
    except (OSError, ValueError):
        raise InputError(f"{metrics} gives no metrics; check --server-metrics") from None
    return float(found[1]) / 1e6 if found else None


@contextmanager
def sampled(memory_mb: Callable[[], float | None], every_s: float) -> Iterator[Samples]:
    """Sample the memory inside the block; the list grows meanwhile. It stays empty if nobody knows."""
    samples, over = Samples(), Flag()

    def sample() -> None:
        began_s = monotonic()
        while not over.wait(every_s):
            # Metrics that give no answer once may give the next one.
            with suppress(InputError):
                memory = memory_mb()
                if memory is None:
                    return
                samples.append((monotonic() - began_s, memory))

    thread = Thread(target=sample, name="memory", daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        over.set()
        thread.join()


def growth_mb(samples: Sequence[tuple[float, float]]) -> float | None:
    """By how much the memory grew from the second quarter of a load to its last one; None if unknown.

    In the first quarter, everything is used for the first time.
    """
    quarter = len(samples) // 4
    if not quarter:
        return None
    second, last = samples[quarter : 2 * quarter], samples[-quarter:]
    return sum(mb for _, mb in last) / quarter - sum(mb for _, mb in second) / quarter
