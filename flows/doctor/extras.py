"""The optional parts of surtitle: which are installed."""

import msgspec

from connectors.sinks.part import SINKS
from flows.doctor.finding import Finding
from operators.extras import EXTRAS, Extra, installing, missing
from operators.recognizers.part import RECOGNIZERS


def all_extras() -> dict[str, Extra]:
    """The extras by name: those of recognisers and sinks, and the others."""
    own = [*(one.extra for one in RECOGNIZERS.values()), *(one.extra for one in SINKS.values())]
    return {extra.name: extra for extra in own if extra is not None} | EXTRAS


class ExtraFacts(msgspec.Struct, frozen=True):
    """The extras of the package, by name."""

    installed: tuple[str, ...]
    absent: tuple[str, ...]


def look() -> ExtraFacts:
    """Look for the packages of each extra, without importing them."""
    return ExtraFacts(
        tuple(name for name, extra in all_extras().items() if missing(extra) is None),
        tuple(name for name, extra in all_extras().items() if missing(extra) is not None),
    )


def judge(facts: ExtraFacts) -> list[Finding]:
    """Absent extras are no defect: only some runs need one."""
    found = []
    if facts.installed:
        found.append(Finding.ok(f"Installed: {', '.join(facts.installed)}"))
    if facts.absent:
        listed = ", ".join(f"{name} ({all_extras()[name].purpose})" for name in facts.absent)
        found.append(Finding.ok(f"Not installed: {listed}. To add: {installing(*facts.absent)}"))
    return found
