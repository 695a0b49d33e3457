"""Many rooms on one model: builds the scheduler of the settings, on its own thread."""

from collections.abc import Callable
from typing import NamedTuple

from flows.engine.draft_model import DraftModel
from flows.settings.schema import TranslateSettings
from operators.decoding.pass_cost import PassCosts
from operators.errors import UsageError
from operators.models.llama import BATCH, LlamaContext
from operators.models.llama_model import LlamaModel
from operators.models.memory_plan import Footprint
from operators.models.pool import SessionPool
from operators.models.shared_sessions import SharedSessions
from operators.serving.fill import fill_of
from operators.serving.scheduler import Scheduler

#: Maximum bytes of the logits of a pass of many rooms: 256 positions for a vocabulary of 262,144 tokens.
_LOGITS_BYTES = 1 << 28


class Opened(NamedTuple):
    """A loaded model: its context, and the sessions in it."""

    context: LlamaContext
    pool: SessionPool


def largest_fill(model: LlamaModel) -> int:
    """Maximum number of tokens of a pass of many rooms, if all of them need logits."""
    return max(1, min(BATCH, _LOGITS_BYTES // (4 * model.vocabulary_size)))


def check_memory(settings: TranslateSettings, needs: Callable[[], Footprint]) -> None:
    """Raise `UsageError` if the rooms need more memory than the settings allow."""
    if settings.rooms is None or settings.memory_mb is None:
        return
    needed = needs()
    if needed.mb > settings.memory_mb:
        raise UsageError(
            f"{settings.rooms} rooms need {needed.mb:.0f} MB for the model's cache and logits, more than the "
            f"{settings.memory_mb} MB of translate.memory_mb; allow more, or lower translate.rooms or "
            f"translate.max_source"
        )


def make_scheduler(
    opened: Opened, draft: DraftModel | None, costs: PassCosts, most: int | None = None
) -> Scheduler:
    """A scheduler with exclusive use of the sessions of both models.

    Passes are filled up to the point where more tokens stop paying off, by ``costs``; ``most`` is as in
    `Scheduler`.
    """
    second = None if draft is None else SharedSessions(draft.context, draft.pool.sessions)
    return Scheduler(
        SharedSessions(opened.context, opened.pool.sessions), second, fill=fill_of(costs), most=most
    )
