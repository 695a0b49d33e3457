"""The memory: whether the model fits."""

import msgspec

from connectors.machine.resources import available_mb, limits
from connectors.models.catalog import BESIDES_MB
from flows.doctor.finding import Finding


class MemoryFacts(msgspec.Struct, frozen=True):
    """Megabytes."""

    #: Free memory of the machine, and what the container still allows; None if unknown or unlimited.
    available_mb: float | None
    allowed_mb: float | None
    #: Size of the model's file; None if there is none.
    model_mb: float | None


def look(model_mb: float | None) -> MemoryFacts:
    """Look at the memory."""
    allowed = limits().memory
    return MemoryFacts(available_mb(), None if allowed is None else allowed / 1e6, model_mb)


def judge(facts: MemoryFacts) -> list[Finding]:
    """Whether a run with the model fits into the memory."""
    free = min((mb for mb in (facts.available_mb, facts.allowed_mb) if mb is not None), default=None)
    if free is None:
        return [Finding.ok("This system does not tell how much memory is free")]
    needed = BESIDES_MB + (facts.model_mb or 0.0)
    sentence = f"{free:,.0f} MB are free, and captions need about {needed:,.0f} MB"
    if free >= needed:
        return [Finding.ok(sentence)]
    if free < (facts.model_mb or 0.0):
        return [Finding.problem(sentence, "choose a smaller model with --model, or allow more memory")]
    return [Finding.warning(sentence, "close other programs, or allow more memory")]
