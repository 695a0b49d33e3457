"""Builds the decoding method that the settings name from acceptance rules and drafters."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from flows.settings.translate import WEIGHING, TranslateSettings
from operators.decoding.acceptance import (
    EXACT,
    FINAL_BLOCK,
    Acceptance,
    BiasedAcceptance,
    MinimumBlock,
    acceptance,
)
from operators.decoding.drafts import Drafter
from operators.decoding.forward import Method, Task
from operators.decoding.pass_cost import FLAT, BlockLength, PassCosts
from operators.decoding.ssbd import continuous, retranslate, ssbd


def research() -> Any:
    """The research methods by name; imported on demand only."""
    return import_module("flows.research")


def method(
    settings: TranslateSettings,
    costs: PassCosts = FLAT,
    heads: Any = None,
    *,
    knows_unfinished: bool = False,
    beam: int = 1,
) -> Callable[[Task], Method]:
    """The decoding method that the settings name.

    ``beam`` is the width of the beam search after the divergence; 1 decodes greedily.
    """
    if settings.method == "retranslate":
        return retranslate
    if settings.method == "continuous":
        return continuous
    rules = settings.rules(knows_unfinished=knows_unfinished)
    partial = MinimumBlock(acceptance(rules.accept, rules.bias), settings.min_block)
    final = MinimumBlock(acceptance(rules.final_accept, rules.final_bias), settings.min_block)
    proposed = BiasedAcceptance(settings.proposal_bias) if settings.proposal_bias else EXACT
    block = FINAL_BLOCK if rules.drops_bias else None
    # A final without bias must not be biased by later drafts either.
    last = proposed if rules.final_bias else EXACT
    # A given length is used as it is, whatever the passes cost.
    longest = {} if settings.block is None else {"longest": settings.block}
    length = BlockLength(costs if weighs_costs(settings) else FLAT, settings.sure, **longest)

    def decode(task: Task) -> Method:
        if not task.is_final:
            return ssbd(task, partial, None, *drafters(task, proposed), beam=beam)
        return ssbd(task, final, block, *drafters(task, last), beam=beam)

    def drafters(task: Task, rule: Acceptance) -> list[Drafter]:
        made: list[Drafter] = research().drafters(settings, task, length, rule, heads)
        return made

    return decode


def weighs_costs(settings: TranslateSettings) -> bool:
    return settings.method in WEIGHING and settings.block is None
