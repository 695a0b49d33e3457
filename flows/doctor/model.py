"""The language model: whether it is there, can be loaded, and knows the languages."""

import msgspec

from connectors.machine.child_process import Failure, run_child
from flows.doctor.finding import Finding, advised, from_error
from flows.settings.schema import TranslateSettings

# No check uses the network: a model of the hub is used only if it was fetched before.
_OFFLINE = {"HF_HUB_OFFLINE": "1"}


class ModelFacts(msgspec.Struct, frozen=True):
    """A language model."""

    #: Why it cannot be used; None if it can.
    error: str | None = None
    #: Which named model to take instead, as a phrase.
    advice: str = ""
    #: Whether it is one of the hub that was not fetched yet.
    is_absent: bool = False
    path: str = ""
    #: Its own name and architecture, from its header.
    name: str = ""
    architecture: str = ""
    mb: float = 0.0
    #: Whether it was trained for captions.
    is_for_captions: bool = False
    #: Whether tokens of a draft can be kept when the source grows.
    can_keep: bool = True
    direction: str = ""
    #: The directions that the models for captions know.
    captioned: tuple[str, ...] = ()


def look(settings: TranslateSettings, limit_s: float) -> ModelFacts:
    """Load the model in a child process, without the network."""
    facts = run_child("flows.doctor.child", ["model", *named(settings)], ModelFacts, limit_s, _OFFLINE)
    if not isinstance(facts, Failure):
        return facts
    if facts.is_late:
        return ModelFacts(error=f"loading the model {facts.why}; choose a smaller one with --model")
    return ModelFacts(error=f"the process that loaded the model {facts.why}; choose another one with --model")


def named(settings: TranslateSettings) -> list[str]:
    """The settings that choose a model, as arguments of a child process."""
    return [settings.model, settings.source, settings.target]


def judge(facts: ModelFacts) -> list[Finding]:
    """Whether the model can translate captions."""
    if facts.is_absent:
        return [
            Finding.warning(
                f"{facts.name} was not fetched from the hub yet",
                "start a run with it: that downloads it once",
            )
        ]
    if facts.error is not None:
        return [from_error(facts.error, is_problem=True), *advised(facts.advice)]
    sentence = f"{facts.name or facts.path} ({facts.architecture}, {facts.mb:,.0f} MB) can be loaded"
    if not facts.can_keep:
        sentence += "; its memory cannot shift, so each update evaluates the whole draft"
    if facts.is_for_captions:
        return [Finding.ok(f"{sentence}; it was trained for captions, {facts.direction}")]
    found = [Finding.ok(f"{sentence}; it translates {facts.direction}, but was not trained for captions")]
    if facts.captioned and facts.direction not in facts.captioned:
        found.append(Finding.ok(f"models trained for captions come for {', '.join(facts.captioned)}"))
    return found
