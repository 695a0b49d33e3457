"""Builds the decoding method that the settings name from acceptance rules and drafters."""

from collections.abc import Callable

from flows.engine.draft_model import prediction
from flows.engine.leaning import leaning
from flows.settings.schema import TranslateSettings
from operators.decoding.acceptance import EXACT, Acceptance, BiasedAcceptance, MinimumBlock
from operators.decoding.continuous import continuous
from operators.decoding.drafter import Drafter
from operators.decoding.forward import Method, Task
from operators.decoding.greedy import retranslate
from operators.decoding.pass_cost import FLAT, BlockLength, PassCosts
from operators.decoding.recycling import recycling
from operators.decoding.rules import acceptance
from operators.decoding.ssbd import ssbd
from operators.research.draft_model import ModelDrafts
from operators.research.heads import HeadProposals, Heads
from operators.research.jacobi import Jacobi

#: Draft tokens that a final with less bias verifies first; see the cost model in docs/decoding.md.
HONEST_BLOCK = 7
#: Number of tokens of a Gauss-Seidel block.
JACOBI_BLOCK = 8


def method(
    settings: TranslateSettings,
    costs: PassCosts = FLAT,
    heads: Heads | None = None,
    *,
    knows_unfinished: bool = False,
) -> Callable[[Task], Method]:
    """The decoding method that the settings name.

    Args:
        settings: The settings of the translate stage.
        costs: The cost of passes on this machine.
        heads: The proposal heads of the model, for the method ``heads``.
        knows_unfinished: Whether the model was trained on unfinished text.
    """
    if settings.method == "retranslate":
        return retranslate
    if settings.method == "continuous":
        return continuous
    leans = leaning(settings, knows_unfinished=knows_unfinished)
    partial = MinimumBlock(acceptance(leans.accept, leans.bias), settings.min_block)
    final = MinimumBlock(acceptance(leans.final_accept, leans.final_bias), settings.min_block)
    proposed = BiasedAcceptance(settings.proposal_bias) if settings.proposal_bias else EXACT
    # Little of a draft that was made with a bias is accepted without that bias.
    is_honest = leans.finals_are_biased and leans.final_bias < leans.bias
    block = HONEST_BLOCK if is_honest else None
    # A final without bias must not be biased by later drafts either.
    last = proposed if leans.finals_are_biased and leans.final_bias else EXACT

    def decode(task: Task) -> Method:
        if not task.is_final:
            return ssbd(task, partial, None, *drafters(settings, costs, task, proposed, heads))
        return ssbd(task, final, block, *drafters(settings, costs, task, last, heads))

    return decode


def weighs_costs(settings: TranslateSettings) -> bool:
    """Whether the method fits its proposals to the cost of passes on this machine."""
    return settings.method in ("recycle", "heads") and settings.block is None


def drafters(
    settings: TranslateSettings,
    costs: PassCosts,
    task: Task,
    acceptance: Acceptance,
    heads: Heads | None,
) -> list[Drafter]:
    """The drafters used after the divergence from the last output, in order of precedence."""
    second = prediction(settings)
    return [
        *_own_drafters(settings, costs, task, acceptance, heads),
        *([] if second is None else [ModelDrafts(task, second)]),
    ]


def _own_drafters(
    settings: TranslateSettings,
    costs: PassCosts,
    task: Task,
    acceptance: Acceptance,
    heads: Heads | None,
) -> list[Drafter]:
    # A given length is used as it is, whatever the passes cost.
    longest = {} if settings.block is None else {"longest": settings.block}
    length = BlockLength(costs if weighs_costs(settings) else FLAT, settings.sure, **longest)
    block = settings.block or JACOBI_BLOCK
    if settings.method == "recycle":
        return [recycling(task, length, acceptance)]
    if settings.method == "heads" and heads is not None:
        return [HeadProposals(heads, length, acceptance)]
    if settings.method == "jacobi":
        return [Jacobi(task, None, acceptance)]
    if settings.method in ("gs-jacobi", "hybrid-jacobi"):
        return [Jacobi(task, block, acceptance, hybrid=settings.method == "hybrid-jacobi")]
    return []
