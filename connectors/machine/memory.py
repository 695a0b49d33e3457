"""The memory of this process."""

from pathlib import Path


def resident_mb() -> float | None:
    """Resident memory of this process in megabytes; None if the system does not report it as Linux does."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        kib = next(line.split()[1] for line in lines if line.startswith("VmRSS:"))
    except (OSError, StopIteration):
        return None
    return int(kib) * 1024 / 1e6


def available_mb() -> float | None:
    """Megabytes that can be allocated without swapping; None if the system does not tell as Linux does."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        kib = next(line.split()[1] for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return None
    return int(kib) * 1024 / 1e6
