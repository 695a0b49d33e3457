"""All checks, one after the other, each within a time limit."""

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from flows.doctor.finding import Checked, Finding
from flows.doctor.machine import (
    DiskFacts,
    ExtraFacts,
    MemoryFacts,
    PortFacts,
    ProcessorFacts,
    TerminalFacts,
)
from flows.doctor.microphone import MicrophoneFacts
from flows.doctor.model import ModelFacts, SpeedFacts
from flows.doctor.part import Given, PartFacts, subjects
from operators.notifications import Progress

F = TypeVar("F", bound=msgspec.Struct)
#: Seconds: for what is read from the system, for what runs in a child process, and for what computes there.
_QUICK_S, _CHILD_S, _LOADING_S, _MEASURING_S = 5.0, 20.0, 120.0, 120.0
_NOT_LOADED = "the model was not loaded, as llama.cpp does not run; see processor"
# A child process is killed by its parent first.
_GRACE_S = 5.0


def examine(given: Given, doing: Progress, *, is_quick: bool) -> Iterator[Checked]:
    """Check all subjects of a run with these settings, and end within the sum of the limits.

    Raises the errors of `load_settings`, and `UsageError` for an unknown language; nothing else.
    """

    def check(
        subject: str, limit_s: float, look: Callable[[], F], judge: Callable[[F], list[Finding]]
    ) -> Checked:
        doing(f"examining: {subject}", None)
        return checked(subject, limit_s, look, judge)

    wanted = given.load()
    settings, device = wanted.translate, wanted.input.microphone
    # A wrong language is a mistake on the command line, not a finding about this machine.
    _ = settings.direction
    found = check(
        "processor", _CHILD_S + _GRACE_S, lambda: ProcessorFacts.look(_CHILD_S), ProcessorFacts.judge
    )
    yield found
    runs = found.verdict != "problem"
    translated = [one for one in settings.directions if one.translates]
    loaded, models = ModelFacts(error=_NOT_LOADED), list[ModelFacts]()
    for one in translated if runs else ():
        name = "model" if one == translated[0] else one.target.name
        look = partial(ModelFacts.look, replace(settings, target=one.target.name), _LOADING_S)
        found = check(name, _LOADING_S + _GRACE_S, look, ModelFacts.judge)
        yield found
        models.append(found.facts or loaded)
    loaded = models[0] if models else loaded
    for subject in subjects(wanted):
        look_at_part = partial(PartFacts.look, subject, given, _CHILD_S)
        yield check(subject, _CHILD_S + _GRACE_S, look_at_part, PartFacts.judge)
    mb = sum({one.path: one.mb for one in models}.values()) or None
    yield check("memory", _QUICK_S, partial(MemoryFacts.look, mb), MemoryFacts.judge)
    yield check("disk", _QUICK_S, DiskFacts.look, DiskFacts.judge)
    yield check(
        "microphone", _CHILD_S + _GRACE_S,
        lambda: MicrophoneFacts.look(device, _CHILD_S),
        lambda facts: facts.judge(is_named=device is not None),
    )  # fmt: skip
    yield check("ports", _QUICK_S, PortFacts.look, PortFacts.judge)
    yield check("terminal", _QUICK_S, TerminalFacts.look, TerminalFacts.judge)
    yield check("extras", _QUICK_S, ExtraFacts.look, ExtraFacts.judge)
    is_usable = loaded.error is None and not loaded.is_absent if translated else runs
    if is_usable and not is_quick:
        measured = replace(settings, target=translated[0].target.name) if translated else settings
        yield check(
            "speed", _MEASURING_S + _GRACE_S,
            partial(SpeedFacts.look, measured, _MEASURING_S),
            lambda facts: facts.judge(len(translated)),
        )  # fmt: skip


def checked(
    subject: str, limit_s: float, look: Callable[[], F], judge: Callable[[F], list[Finding]]
) -> Checked:
    """Run one check on a thread of its own, and leave that alone when the time is over."""
    answers: list[Any] = []

    def run() -> None:
        try:
            facts = look()
            answers.append((facts, judge(facts)))
        except Exception as error:  # noqa: BLE001 - a check that fails is a finding
            answers.append(error)

    began = time.monotonic()
    thread = threading.Thread(target=run, name=f"doctor {subject}", daemon=True)
    thread.start()
    thread.join(limit_s)
    took_s = round(time.monotonic() - began, 3)
    match answers:
        case [(facts, findings)]:
            return Checked(subject, tuple(findings), facts, took_s)
        case [error]:
            sentence = f"This could not be examined: {type(error).__name__}: {error}"
            return Checked(subject, (Finding.warning(sentence, "please report this"),), None, took_s)
    late = Finding.warning(
        f"This could not be examined within {limit_s:g} s",
        "end programs that keep the machine busy, and try again",
    )
    return Checked(subject, (late,), None, took_s)
