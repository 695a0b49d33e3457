"""The decoding method that the settings name, put together from rules and drafters."""

from collections.abc import Callable

from flows.engine.draft_model import prediction
from flows.settings.schema import TranslateSettings
from operators.decoding.acceptance import (
    EXACT,
    Acceptance,
    BiasedAcceptance,
    DistanceAcceptance,
    MinimumBlock,
    TopAcceptance,
    WorthAcceptance,
)
from operators.decoding.continuous import continuous
from operators.decoding.drafter import Drafter
from operators.decoding.forward import Method, Task
from operators.decoding.greedy import retranslate
from operators.decoding.heads import HeadProposals, Heads
from operators.decoding.jacobi import Jacobi
from operators.decoding.pass_cost import FLAT, BlockLength, PassCosts
from operators.decoding.recycling import recycling
from operators.decoding.second_model import SecondModel
from operators.decoding.ssbd import ssbd

#: Tokens of its draft that a final with less bias looks at first; see the cost model in docs/decoding.md.
HONEST_BLOCK = 7
#: Tokens of a Gauss-Seidel block.
JACOBI_BLOCK = 8


def final_bias(settings: TranslateSettings, *, knows_unfinished: bool = False) -> float:
    """Beta of a segment's last update, for a model that was or was not trained on unfinished text."""
    if settings.final_bias is not None:
        return settings.final_bias
    return settings.bias if knows_unfinished else 0.0


def method(
    settings: TranslateSettings,
    costs: PassCosts = FLAT,
    heads: Heads | None = None,
    *,
    knows_unfinished: bool = False,
) -> Callable[[Task], Method]:
    """The decoding method that the settings name.

    Args:
        settings: the translate stage's.
        costs: what passes cost on this machine.
        heads: the model's, for the method of that name.
        knows_unfinished: whether the model was trained on unfinished text.
    """
    if settings.method == "retranslate":
        return retranslate
    if settings.method == "continuous":
        return continuous
    last_bias = final_bias(settings, knows_unfinished=knows_unfinished)
    partial, final = rule(settings, settings.bias), rule(settings, last_bias)
    proposed = BiasedAcceptance(settings.proposal_bias) if settings.proposal_bias else EXACT
    # Without the bias that made it, little of a draft stands.
    is_honest = settings.accept == "bias" and last_bias < settings.bias
    block = HONEST_BLOCK if is_honest else None
    # A final that is to be honest is not to be bent by what is drafted later either.
    last = proposed if settings.accept == "bias" and last_bias else EXACT

    def decode(task: Task) -> Method:
        if not task.is_final:
            return ssbd(task, partial, None, *drafters(settings, costs, task, proposed, heads))
        return ssbd(task, final, block, *drafters(settings, costs, task, last, heads))

    return decode


def rule(settings: TranslateSettings, bias: float) -> Acceptance:
    """The rule by which draft tokens stand."""
    return MinimumBlock(_rule(settings.accept, bias), settings.min_block)


def is_lenient(settings: TranslateSettings) -> bool:
    """Whether a draft token can stand that is not the model's own choice."""
    kind, _, number = settings.accept.partition("-")
    strictest = {"bias": settings.bias == 0.0, "exact": True, "top": number == "1"}
    return not strictest.get(kind, kind in ("within", "worth") and float(number) == 0.0)


def _rule(name: str, bias: float) -> Acceptance:
    kind, _, number = name.partition("-")
    if kind == "top":
        return TopAcceptance(int(number))
    if kind == "within":
        return DistanceAcceptance(float(number))
    if kind == "worth":
        return WorthAcceptance(float(number))
    return BiasedAcceptance(bias) if kind == "bias" else EXACT


def weighs_costs(settings: TranslateSettings) -> bool:
    """Whether the method proposes as much as pays on this machine, and needs to know what passes cost."""
    return settings.method in ("recycle", "heads") and settings.block is None


def drafters(
    settings: TranslateSettings,
    costs: PassCosts,
    task: Task,
    acceptance: Acceptance,
    heads: Heads | None,
) -> list[Drafter]:
    """What drafts after the last output's divergence, in the order of precedence."""
    second = prediction(settings)
    return [
        *_own_drafters(settings, costs, task, acceptance, heads),
        *([] if second is None else [SecondModel(task, second)]),
    ]


def _own_drafters(
    settings: TranslateSettings,
    costs: PassCosts,
    task: Task,
    acceptance: Acceptance,
    heads: Heads | None,
) -> list[Drafter]:
    # A length that is given is taken as it is: then no pass is too dear.
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
