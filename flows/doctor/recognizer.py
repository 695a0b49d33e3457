"""The recogniser: whether the default one can be loaded, and knows the spoken language."""

import msgspec

from connectors.machine.child_process import Failure, run_child
from flows.doctor.finding import Finding, from_error
from operators.languages import language


class RecognizerFacts(msgspec.Struct, frozen=True):
    """The default recogniser."""

    #: Why it cannot be used for the spoken language; None if it can.
    error: str | None = None


def look(spoken: str, limit_s: float) -> RecognizerFacts:
    """Load the recogniser in a child process."""
    facts = run_child("flows.doctor.child", ["recognizer", spoken], RecognizerFacts, limit_s)
    if isinstance(facts, Failure):
        return RecognizerFacts(f"the process that loaded the recogniser {facts.why}; install surtitle again")
    return facts


def judge(facts: RecognizerFacts, spoken: str) -> list[Finding]:
    """Whether speech can be recognised."""
    if facts.error is not None:
        return [from_error(facts.error, is_problem=True)]
    return [Finding.ok(f"Moonshine can be loaded; it recognises {language(spoken).name}")]
