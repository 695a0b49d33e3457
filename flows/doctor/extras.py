"""The optional parts of surtitle: which are installed."""

from importlib.util import find_spec

import msgspec

from flows.doctor.finding import Finding
from operators.extras import EXTRAS, installing

#: What each extra is for.
PURPOSES = {
    "web": "captions in browsers, rooms",
    "azure": "recognition by Azure",
    "whisper": "recognition by Whisper",
    "vosk": "recognition by Vosk",
    "kafka": "topics of Kafka",
    "bench": "tokenizers of benchmarks",
    "train": "training of models",
}


class ExtraFacts(msgspec.Struct, frozen=True):
    """The extras of the package, by name."""

    installed: tuple[str, ...]
    absent: tuple[str, ...]


def look() -> ExtraFacts:
    """Look for the packages of each extra, without importing them."""
    return ExtraFacts(
        tuple(name for name in PURPOSES if is_installed(name)),
        tuple(name for name in PURPOSES if not is_installed(name)),
    )


def is_installed(extra: str) -> bool:
    """Whether all packages that are imported from an extra are there."""
    return all(find_spec(package) is not None for package in EXTRAS[extra])


def judge(facts: ExtraFacts) -> list[Finding]:
    """Absent extras are no defect: only some runs need one."""
    found = []
    if facts.installed:
        found.append(Finding.ok(f"Installed: {', '.join(facts.installed)}"))
    if facts.absent:
        listed = ", ".join(f"{name} ({PURPOSES[name]})" for name in facts.absent)
        found.append(Finding.ok(f"Not installed: {listed}. To add: {installing(*facts.absent)}"))
    return found
