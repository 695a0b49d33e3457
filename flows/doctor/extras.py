"""The optional parts of surtitle: which are installed."""

from importlib.util import find_spec

import msgspec

from flows.doctor.finding import Finding
from operators.extras import EXTRAS, Extra, installing
from operators.recognizers.part import RECOGNIZERS


def all_extras() -> dict[str, Extra]:
    """The extras by name: those of recognisers, and the others."""
    return {one.extra.name: one.extra for one in RECOGNIZERS.values() if one.extra} | EXTRAS


class ExtraFacts(msgspec.Struct, frozen=True):
    """The extras of the package, by name."""

    installed: tuple[str, ...]
    absent: tuple[str, ...]


def look() -> ExtraFacts:
    """Look for the packages of each extra, without importing them."""
    return ExtraFacts(
        tuple(name for name, extra in all_extras().items() if is_installed(extra)),
        tuple(name for name, extra in all_extras().items() if not is_installed(extra)),
    )


def is_installed(extra: Extra) -> bool:
    """Whether all packages that are imported from an extra are there."""
    return all(find_spec(package) is not None for package in extra.packages)


def judge(facts: ExtraFacts) -> list[Finding]:
    """Absent extras are no defect: only some runs need one."""
    found = []
    if facts.installed:
        found.append(Finding.ok(f"Installed: {', '.join(facts.installed)}"))
    if facts.absent:
        listed = ", ".join(f"{name} ({all_extras()[name].purpose})" for name in facts.absent)
        found.append(Finding.ok(f"Not installed: {listed}. To add: {installing(*facts.absent)}"))
    return found
