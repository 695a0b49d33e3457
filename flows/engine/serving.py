"""Many rooms: builds the scheduler of a model, and the thread on which the models of all rooms run."""

import atexit
from typing import NamedTuple

from flows.engine.draft_model import DraftModel
from operators.decoding.pass_cost import FLAT, PassCosts
from operators.models.llama import BATCH, LlamaContext
from operators.models.llama_model import LlamaModel
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


def make_scheduler(opened: OpenModel, draft: DraftModel | None, costs: PassCosts) -> Scheduler:
    """A scheduler with exclusive use of the sessions of both models.

    Requests share passes where that saves time by ``costs``.
    """
    return share_passes(opened, draft, fill=fill_of(costs), costs=costs)


def share_passes(
    opened: OpenModel, draft: DraftModel | None, *, fill: int, costs: PassCosts = FLAT
) -> Scheduler:
    """A scheduler with exclusive use of the sessions of both models; the others are as in `Scheduler`."""
    second = None if draft is None else SharedSessions(_shares(draft.context), draft.pool)
    first = SharedSessions(_shares(opened.context), opened.pool)
    return Scheduler(first, second, fill=fill, costs=costs)


def _shares(context: LlamaContext | PairStore) -> LlamaContext | None:
    """What evaluates several sessions in one pass; None if nothing does."""
    return context if isinstance(context, LlamaContext) and not context.is_recurrent else None


def on_thread(rooms: Rooms | RoutedRooms) -> RoomsThread:
    """The rooms on a thread of their own, which alone may use them from now on."""
    served = RoomsThread(rooms)
    # The program must not end in the middle of a pass.
    atexit.register(served.stop)
    return served
