"""The machine's resources: how much this process may use, and how much other processes use."""

import os
import platform
import sys
import time
from contextlib import suppress
from pathlib import Path


def usable_cores() -> int:
    """Number of cores that this process may use; a container or taskset may restrict it."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def good_threads() -> int:
    """Number of threads that suit llama.cpp: one on each core, within what control groups allow.

    A second thread on the same core helps only where there is no other core.
    """
    usable = usable_cores()
    siblings = {
        "".join(_lines(Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")))
        for cpu in (os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ())
    }
    cores = len(siblings) if siblings and "" not in siblings else usable
    return max(1, int(min(max(cores, 2), usable, core_quota() or usable)))


def core_quota(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> float | None:
    """Processor time in cores that the control groups of this process allow; None without a limit."""
    path = next((line[3:] for line in _lines(own) if line.startswith("0::")), "")
    group = root / path.strip("/")
    quotas = []
    # In a container the path may be that of the host: its folder is then absent, and the top one applies.
    for one in (group, *group.parents):
        quota, _, period = "".join(_lines(one / "cpu.max")).partition(" ")
        with suppress(ValueError):
            quotas.append(int(quota) / int(period))
    return min(quotas, default=None)


def others_s() -> float:
    """CPU seconds of all other processes since a fixed time in the past; 0 if unknown."""
    if sys.platform == "win32":
        return 0.0
    try:
        user, nice, system, _idle, _wait, irq, soft, steal, *_ = map(
            int, _lines(Path("/proc/stat"))[0].split()[1:]
        )
    except (IndexError, ValueError):
        return 0.0
    busy = user + nice + system + irq + soft + steal
    return busy / os.sysconf("SC_CLK_TCK") - time.process_time()


def cpu_name() -> str:
    """The processor's name, and the number of cores that this process may use."""
    name = _cpu_entry("model name") or platform.processor() or platform.machine()
    return f"{name}, {usable_cores()} cores"


def _cpu_entry(name: str) -> str:
    entries = (line.partition(":") for line in _lines(Path("/proc/cpuinfo")))
    return next((value.strip() for key, _, value in entries if key.strip() == name), "")


def resident_mb() -> float | None:
    """Resident memory of this process in megabytes; None if the system does not report it."""
    return _megabytes(Path("/proc/self/status"), "VmRSS:")


def available_mb() -> float | None:
    """Megabytes that can be allocated without swapping; None if the system does not report it."""
    return _megabytes(Path("/proc/meminfo"), "MemAvailable:")


def _megabytes(path: Path, name: str) -> float | None:
    line = next((line for line in _lines(path) if line.startswith(name)), None)
    return None if line is None else int(line.split()[1]) * 1024 / 1e6


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
