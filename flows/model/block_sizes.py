"""Measures the block sizes of proposal heads in translations from scratch, as in Stern et al., table 1."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from flows.measuring.scores import gpu_cost
from operators.decoding.acceptance import EXACT, Acceptance, TopAcceptance
from operators.decoding.blockwise import decode
from operators.decoding.drafts import Drafter, FirstOf
from operators.decoding.drive import drive
from operators.decoding.forward import Task
from operators.decoding.pass_cost import FLAT, BlockLength
from operators.events import Effort
from operators.models.kv import SequenceStore
from operators.models.pool import SessionPool
from operators.research.heads import HeadProposals, Heads
from operators.trouble import Trouble

#: The rules of the authors' section 5.
RULES: dict[str, Acceptance] = {"exact": EXACT, "top-2": TopAcceptance(2), "top-3": TopAcceptance(3)}
_KEY = "held out"


class BlockSize(NamedTuple):
    """The effect of a number of heads on translations from scratch of held-out prompts."""

    heads: int
    #: The acceptance rule for their proposals.
    accept: str
    #: Tokens per pass: the mean accepted block size of Stern et al. (2018), whose k is one more.
    mean_block: float
    #: The speedup if a pass over n tokens costs 1 + n / 100.
    speedup_simulated: float


class _Taken(NamedTuple):
    """The effort of decoding."""

    #: Number of tokens of the outputs, including the stop tokens.
    tokens: int
    effort: Effort


def measured(
    store: SequenceStore, head: Sequence[int], tasks: Sequence[Task], heads: Heads
) -> Iterator[BlockSize]:
    """Return a row for each number of heads and each rule. Everything that the heads predict is proposed.

    Outputs that were cut because they repeat themselves are left out, because their tokens are lost. If no
    others remain, there are no rows.

    ``store`` must have two empty sequences; ``head`` is the common prefix of all prompts.
    """
    pool = SessionPool(store, head, 1)
    greedy = _decoded(pool, tasks, FirstOf)
    if not greedy.tokens:
        return
    for count in range(1, len(heads) + 1):
        some, length = heads.first(count), BlockLength(FLAT, 0.0, count)
        for name, rule in RULES.items():
            taken = _decoded(pool, tasks, lambda: HeadProposals(some, length, rule))  # noqa: B023 - called at once
            speedup = _cost(greedy) / max(1e-9, _cost(taken))
            block = taken.tokens / max(1, taken.effort.passes)
            yield BlockSize(count, name, round(block, 3), round(speedup, 3))


def _decoded(pool: SessionPool, tasks: Sequence[Task], drafter: Callable[[], Drafter]) -> _Taken:
    tokens, effort = 0, Effort()
    for task in tasks:
        with pool.session(_KEY) as session:
            decoded, cost = drive(decode(task, drafter()), session)
        pool.release(_KEY)
        if decoded.cut is Trouble.REPETITION:
            continue
        # Only the last token of the prompt counts: no method can save the evaluation of those before it.
        evaluated = cost.evaluated - (len(task.prompt) - cost.reused - 1)
        effort += Effort(passes=cost.passes, evaluated=evaluated)
        tokens += len(decoded.tokens) + (decoded.cut is None)
    return _Taken(tokens, effort)


def _cost(taken: _Taken) -> float:
    """The cost per token, because outputs may differ in length."""
    return gpu_cost(taken.effort) / max(1, taken.tokens)
