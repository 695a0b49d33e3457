"""Information about the machine's processor."""

import os
import platform
import subprocess
import sys
import time
from pathlib import Path


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
