"""The memory that this process has."""

from pathlib import Path


def resident_mb() -> float | None:
    """Megabytes of memory that are this process' now; None where the system does not tell as Linux does."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        kib = next(line.split()[1] for line in lines if line.startswith("VmRSS:"))
    except (OSError, StopIteration):
        return None
    return int(kib) * 1024 / 1e6
