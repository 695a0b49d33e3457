"""Limits of the control groups (Linux, versions 1 and 2) of this process, such as a container's."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_ROOT, _OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
# Version 1 writes a number near 2**63 where there is no limit.
_NO_LIMIT = 2**60


class Limits(NamedTuple):
    """What this process may use; None where nothing limits it."""

    #: Processor time, in cores.
    cores: float | None
    #: Bytes that may still be allocated.
    memory: int | None


def limits(root: Path = _ROOT, own: Path = _OWN) -> Limits:
    """The tightest limits of the groups that this process is in; none on other systems."""
    cores = [found for group in _groups(root, own, "cpu") if (found := _cores(group)) is not None]
    memory = [found for group in _groups(root, own, "memory") if (found := _memory(group)) is not None]
    return Limits(min(cores, default=None), min(memory, default=None))


def _groups(root: Path, own: Path, controller: str) -> Iterator[Path]:
    """The folders of the groups with this controller, inner ones first."""
    text = ""
    with suppress(OSError):
        text = own.read_text(encoding="utf-8", errors="replace")
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number != "0" and controller not in controllers.split(","):
            continue
        top = root if number == "0" else root / controllers
        group = top / path.strip("/")
        # In a container, the path may be that of the host: its folder is then absent, and the top is meant.
        while group != top and top in group.parents:
            yield group
            group = group.parent
        yield top


def _cores(group: Path) -> float | None:
    quota, _, period = _read(group / "cpu.max").partition(" ")  # version 2
    if not quota:
        quota, period = _read(group / "cpu.cfs_quota_us"), _read(group / "cpu.cfs_period_us")
    with suppress(ValueError, ZeroDivisionError):
        cores = int(quota) / int(period)
        return cores if cores > 0 else None
    return None


def _memory(group: Path) -> int | None:
    limit = _read(group / "memory.max") or _read(group / "memory.limit_in_bytes")
    used = _read(group / "memory.current") or _read(group / "memory.usage_in_bytes")
    with suppress(ValueError):
        if int(limit) < _NO_LIMIT:
            return max(0, int(limit) - int(used or 0) + _reclaimable(group))
    return None


def _reclaimable(group: Path) -> int:
    """Bytes of files in memory that the system gives up when something else needs the space."""
    for line in _read(group / "memory.stat").splitlines():
        name, _, value = line.partition(" ")
        if name == "inactive_file" and value.isdigit():
            return int(value)
    return 0


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
