"""What this process may use of the machine: processor, memory, and the limits of its control groups."""

import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


def usable_cores() -> int:
    """Number of cores that this process may use; a container or taskset may restrict it."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def others_s() -> float:
    """CPU seconds of all other processes since a fixed time in the past; 0 if unknown."""
    try:
        user, nice, system, _idle, _wait, irq, soft, steal, *_ = map(
            int, Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]
        )
    except (OSError, ValueError):
        return 0.0
    busy = user + nice + system + irq + soft + steal
    return busy / os.sysconf("SC_CLK_TCK") - time.process_time()


def cpu_name() -> str:
    """The processor's name, and the number of cores that this process may use."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        name = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return f"{name}, {usable_cores()} cores"


def cpu_features() -> frozenset[str]:
    """The processor's features as the system names them: instruction sets, and other properties.

    Linux lists them in ``/proc/cpuinfo`` (``flags``, or ``Features`` on arm64), macOS in ``sysctl``.
    On other systems the result is the processor's name.
    """
    features = _linux_features() or _macos_features()
    return features or frozenset({platform.processor() or platform.machine()})


def _linux_features() -> frozenset[str]:
    try:
        # All processors have the same long list: the first one is enough.
        with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                name, _colon, value = line.partition(":")
                if name.strip() in ("flags", "Features"):
                    return frozenset(value.split())
    except OSError:
        pass
    return frozenset()


def _macos_features() -> frozenset[str]:
    if sys.platform != "darwin":
        return frozenset()
    command = ["/usr/sbin/sysctl", "hw.optional", "machdep.cpu"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    pairs = [line.split(": ", 1) for line in said.splitlines() if ": " in line]
    optional = {name for name, value in pairs if name.startswith("hw.optional") and value.strip() == "1"}
    listed = [value.split() for name, value in pairs if name.startswith("machdep.cpu") and "features" in name]
    return frozenset(optional.union(*listed))


_ROOT, _OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
# Version 1 writes a number near 2**63 where there is no limit.
_NO_LIMIT = 2**60


class CgroupLimits(NamedTuple):
    """What this process may use; None where nothing limits it."""

    #: Processor time, in cores.
    cores: float | None
    #: Bytes that may still be allocated.
    memory: int | None


def limits(root: Path = _ROOT, own: Path = _OWN) -> CgroupLimits:
    """The tightest limits of the groups that this process is in; none on other systems."""
    cores = [found for group in _groups(root, own, "cpu") if (found := _cores(group)) is not None]
    memory = [found for group in _groups(root, own, "memory") if (found := _memory(group)) is not None]
    return CgroupLimits(min(cores, default=None), min(memory, default=None))


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


def resident_mb() -> float | None:
    """Resident memory of this process in megabytes; None if the system does not report it as Linux does."""
    return _megabytes(Path("/proc/self/status"), "VmRSS:")


def available_mb() -> float | None:
    """Megabytes that can be allocated without swapping; None if the system does not tell as Linux does."""
    return _megabytes(Path("/proc/meminfo"), "MemAvailable:")


def _megabytes(path: Path, name: str) -> float | None:
    for line in _read(path).splitlines():
        if line.startswith(name):
            return int(line.split()[1]) * 1024 / 1e6
    return None
