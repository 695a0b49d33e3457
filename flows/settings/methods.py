"""Decoding methods as parts: SSBD with drafts of its own for the tokens behind the divergence."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from operators.decoding.acceptance import Acceptance
from operators.decoding.drafts import Drafter
from operators.decoding.forward import Task
from operators.decoding.pass_cost import BlockLength
from operators.parts import Parts


class Proposing(NamedTuple):
    """What the drafts of one task depend on."""

    #: The settings of the translate stage. Their schema names the parts, and so it is not imported here.
    settings: Any
    task: Task
    #: How many tokens to propose.
    length: BlockLength
    #: The rule for these tokens.
    acceptance: Acceptance
    #: What `MethodPart.open` has opened.
    opened: Any


Drafters = Callable[[Proposing], list[Drafter]]


class MethodPart(NamedTuple):
    """A method that ``--method NAME`` names, or drafts that join other methods."""

    name: str
    #: The drafters after the divergence, in order of precedence. It imports what only it needs.
    drafters: Drafters
    #: Raises `UsageError` for settings of the translate stage that contradict each other.
    check: Callable[[Any], None] = lambda _settings: None
    #: Opens what the settings name for it, for the model in that file.
    open: Callable[[Any, Path], Any] = lambda _settings, _model: None
    #: Whether proposals are as long as their probability and the cost of passes allow.
    weighs_costs: bool = False
    #: The methods that its drafts follow, if it is not a method by itself.
    joins: tuple[str, ...] = ()


def method(name: str, **about: Any) -> Callable[[Drafters], MethodPart]:
    """Decorate what makes the drafters of a task; ``about`` are other fields of `MethodPart`."""
    return lambda drafters: MethodPart(name, drafters, **about)


METHODS: Mapping[str, MethodPart] = Parts(
    MethodPart, what="a decoding method", package="flows.research", group="surtitle.methods"
)
