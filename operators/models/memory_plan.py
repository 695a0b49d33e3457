"""How many states a recurrent memory keeps: as many as are useful within a memory limit."""

from collections.abc import Callable
from typing import NamedTuple

from operators.models.llama import BATCH, ContextSettings, LlamaContext
from operators.models.llama_model import LlamaModel
from operators.models.recurrent import RecurrentMemory

#: Checkpoints per session: at the source's frontier, before the draft or in the output, and an older one in
#: case the source is revised far back.
SPARES = 3
#: Maximum bytes of all checkpoints together. A state takes 80 kB (LFM2 350M) to 57 MB (Granite 4 H 1B).
CHECKPOINT_BYTES = 1 << 29
#: Tokens that llama.cpp should be able to roll back by itself, and the maximum bytes for that.
ROLLBACK = 16
ROLLBACK_BYTES = 1 << 28
#: Maximum number of sequences in llama.cpp.
MAX_SEQUENCES = 256


def recurrent_memory(model: LlamaModel, sessions: int) -> RecurrentMemory | None:
    """Memory to request from a context for this many sessions; None if it can be cut at any position."""
    if not model.is_recurrent:
        return None
    context = LlamaContext(model, ContextSettings(cells=256, sequences=1, threads=1, rollback=1))
    try:
        context.evaluate(0, [0], 0, 1)
        size, can_take_back = context.state_bytes(0), context.rollback > 0
    finally:
        context.close()
    return plan(size, sessions, can_take_back=can_take_back)


class Footprint(NamedTuple):
    """Bytes that a context takes in addition to the weights."""

    cache: int
    #: Bytes of logits in the largest pass shared by several segments.
    logits: int

    @property
    def mb(self) -> float:
        """The total in megabytes."""
        return (self.cache + self.logits) / 1e6


def footprint(model: LlamaModel, context: ContextSettings, rows: int) -> Footprint:
    """Memory of a context whose passes request the logits of up to ``rows`` positions."""
    probe = LlamaContext(model, ContextSettings(cells=256, sequences=1, threads=1))
    try:
        probe.evaluate(0, [0], 0, 1)
        one = probe.sequence_bytes(0)
        probe.evaluate(0, [0], 1, 1)
        # A recurrent state does not grow, and there is one per sequence.
        each, state = probe.sequence_bytes(0) - one, probe.state_bytes(0) if model.is_recurrent else 0
    finally:
        probe.close()
    return Footprint(context.cells * each + context.sequences * state, rows * 4 * model.vocabulary_size)


def plan(state_bytes: int, sessions: int, *, can_take_back: bool) -> RecurrentMemory:
    """How many checkpoints and how much rollback fit."""
    spares = _most(lambda count: sessions * count * state_bytes <= CHECKPOINT_BYTES, SPARES)
    spares = min(spares, (MAX_SEQUENCES - 1) // sessions - 1)
    states = 1 + sessions * (1 + spares)
    rollback = 0
    if can_take_back:
        rollback = _most(lambda count: count * states * state_bytes <= ROLLBACK_BYTES, ROLLBACK)
    return RecurrentMemory(spares, rollback, BATCH, state_bytes)


def _most(fits: Callable[[int], bool], limit: int) -> int:
    return max(count for count in range(limit + 1) if fits(count))
