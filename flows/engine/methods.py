"""Builds the decoding method that the settings name from acceptance rules and drafters."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from flows.settings.translate import WEIGHING, TranslateSettings
from operators.decoding.acceptance import BIAS, FINAL_BLOCK, Acceptance, Embeddings, MinimumBlock, acceptance
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
    embeddings: Embeddings | None = None,
) -> Callable[[Task], Method]:
    """The decoding method that the settings name.

    ``beam`` is the width of the beam search after the divergence; 1 decodes greedily. The rules ``near-N``
    compare ``embeddings``.
    """
    if settings.method == "retranslate":
        return retranslate
    if settings.method == "continuous":
        return continuous
    rules = settings.rules(knows_unfinished=knows_unfinished)

    def rule(name: str, bias: float | None = None) -> Acceptance:
        return MinimumBlock(acceptance(name, bias, embeddings), settings.min_block)

    partial, final = rule(rules.accept, rules.bias), rule(rules.final_accept, rules.final_bias)
    given = BIAS if settings.bias is None else settings.bias
    proposed = None if settings.proposal_accept == "same" else rule(settings.proposal_accept, given)
    block = FINAL_BLOCK if rules.drops_bias else None
    # A given length is used as it is, whatever the passes cost.
    longest = {} if settings.block is None else {"longest": settings.block}
    length = BlockLength(costs if weighs_costs(settings) else FLAT, settings.sure, **longest)

    def decode(task: Task) -> Method:
        own, first = (final, block) if task.is_final else (partial, None)
        others: list[Drafter] = research().drafters(settings, task, length, proposed or own, heads)
        return ssbd(task, own, first, *others, beam=beam)

    return decode


def weighs_costs(settings: TranslateSettings) -> bool:
    return settings.method in WEIGHING and settings.block is None
