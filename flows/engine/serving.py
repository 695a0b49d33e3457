"""Many rooms: builds the scheduler of a model, and the thread on which the models of all rooms run."""

import atexit
from collections.abc import Callable, Sequence
from typing import NamedTuple

from flows.engine.draft_model import DraftModel
from flows.settings.translate import TranslateSettings
from operators.decoding.pass_cost import FLAT, PassCosts
from operators.errors import UsageError
from operators.models.llama import BATCH, LlamaContext
from operators.models.llama_model import LlamaModel
from operators.models.memory_plan import Footprint
from operators.models.pool import SessionPool
from operators.models.shared_sessions import SharedSessions
from operators.seq2seq.store import PairStore
from operators.serving.rooms import Rooms, RoomsThread, RoutedRooms
from operators.serving.scheduler import Scheduler, fill_of

#: Maximum bytes of the logits of a pass of many rooms: 256 positions for a vocabulary of 262,144 tokens.
_LOGITS_BYTES = 1 << 28


class OpenModel(NamedTuple):
    """A loaded model: its context, and the sessions in it."""

    context: LlamaContext | PairStore
    pool: SessionPool


def largest_fill(model: LlamaModel) -> int:
    """Maximum number of tokens of a pass of many rooms, if all of them need logits."""
    return max(1, min(BATCH, _LOGITS_BYTES // (4 * model.vocabulary_size)))


def check_memory(settings: TranslateSettings, needs: Sequence[Callable[[], Footprint]]) -> None:
    """Raise `UsageError` if the rooms or languages need more memory than the settings allow.

    ``needs`` gives what each model needs.
    """
    if not settings.is_shared or settings.memory_mb is None:
        return
    needed_mb = sum(one().mb for one in needs)
    if needed_mb <= settings.memory_mb:
        return
    what, remedy = "the model's cache and logits", "translate.rooms or translate.max_source"
    if len(needs) > 1:
        what = f"the caches and logits of the {len(needs)} models for their languages"
        remedy += ", or name one model for all languages as translate.model"
    rooms = settings.rooms or 1
    asking = (
        f"{rooms} rooms need" if rooms > 1 or not settings.more_targets else "the languages of captions need"
    )
    raise UsageError(
        f"{asking} {needed_mb:.0f} MB for {what}, more than the "
        f"{settings.memory_mb} MB of translate.memory_mb; allow more, or lower {remedy}"
    )


def make_scheduler(opened: OpenModel, draft: DraftModel | None, costs: PassCosts) -> Scheduler:
    """A scheduler with exclusive use of the sessions of both models.

    Requests share passes where that saves time by ``costs``.
    """
    return share_passes(opened, draft, fill=fill_of(costs), costs=costs)


def share_passes(
    opened: OpenModel, draft: DraftModel | None, *, fill: int, costs: PassCosts = FLAT
) -> Scheduler:
    """A scheduler with exclusive use of the sessions of both models; the others are as in `Scheduler`."""
    second = None if draft is None else SharedSessions(draft.context, draft.pool)
    first = SharedSessions(opened.context if isinstance(opened.context, LlamaContext) else None, opened.pool)
    return Scheduler(first, second, fill=fill, costs=costs)


def on_thread(rooms: Rooms | RoutedRooms) -> RoomsThread:
    """The rooms on a thread of their own, which alone may use them from now on."""
    served = RoomsThread(rooms)
    # The program must not end in the middle of a pass.
    atexit.register(served.stop)
    return served
