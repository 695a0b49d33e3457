"""A session's cache for models with recurrent memory, in all or some layers: Mamba, RWKV, LFM2, Qwen3.5, …

A checkpoint is a copy of the sequence in a spare sequence of the same context. llama.cpp shares the state
between the two until one of them continues, and in every pass reads a state in one place and writes it to
another anyway. So keeping a state and going back to it costs microseconds, and the memory of one more state.

A recurrent layer holds a summary of all tokens so far instead of one entry per token, so no token can be
removed; the tokens after a kept state are evaluated again. An update of self-speculative decoding goes back
twice: to where the source differs from the last one, and to where the model rejects the draft.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from operators.decoding.forward import Logits
from operators.models.store import SequenceStore
from operators.trouble import NoRoom

#: A state is kept in the middle of a pass if it saves evaluating at least this many tokens again. The pass is
#: then split, which costs as much as one more token (if computing is the limit) to eight (if memory is;
#: docs/decoding.md). Tokens before the source's frontier are saved twice, when the draft is rejected and at
#: the next update; tokens before the draft once, and only if the draft is rejected.
FRONTIER_STEP = 4
DRAFT_STEP = 8


class Place(NamedTuple):
    """Where to keep a state."""

    position: int
    #: Whether it is useless for the next update, which has another prompt.
    in_output: bool


class Checkpoints:
    """The kept states of one sequence: at most one in each of ``slots`` slots, all after the head."""

    def __init__(self, slots: Sequence[int], head: int) -> None:
        """Slots are named by any numbers; the state after the first ``head`` tokens is kept elsewhere."""
        self._free = list(slots)
        self._head = head
        self._count = len(slots)
        self._positions: dict[int, int] = {}
        # The kept state that lies in the output, if any; it is useless for the next update.
        self._in_output: int | None = None
        # Where the logits of the last request began: a request that differs earlier has another prompt.
        self._judged = 0

    @property
    def positions(self) -> list[int]:
        """How many tokens each kept state covers, ascending."""
        return sorted(self._positions.values())

    def drop_after(self, length: int) -> list[int]:
        """Drop the states of more than ``length`` tokens; returns the slots that are now free."""
        gone = [slot for slot, position in self._positions.items() if position > length]
        for slot in gone:
            self._give_up(slot)
        return gone

    def best(self, length: int) -> tuple[int, int] | None:
        """The slot that covers most of the first ``length`` tokens, and how many; None without one."""
        usable = [(at, slot) for slot, at in self._positions.items() if at <= length]
        if not usable:
            return None
        at, slot = max(usable)
        return slot, at

    def places(self, begin: int, wanted: int, first: int, end: int) -> list[Place]:
        """Where to keep states in a pass over the tokens from ``begin`` to ``end``, ascending.

        ``wanted`` is where the request differs from the last one. The next update is expected to differ no
        earlier, because sources grow. Tokens from ``first`` on are judged by logits and may be rejected. A
        single token at the end is the model's own choice: nothing goes back to before it.
        """
        places = []
        if self._is_worth(begin, wanted, FRONTIER_STEP) and end - wanted > 1:
            places.append(Place(wanted, self._is_output(wanted)))
            begin = wanted
        if self._is_worth(begin, first, DRAFT_STEP) and end - first > 1:
            places.append(Place(first, in_output=True))
        # The only slot is for the prompt.
        return [place for place in places if self._count > place.in_output]

    def keep(self, place: Place) -> tuple[int, bool]:
        """The slot for a state, and whether it held another one before."""
        slot = self._slot(in_output=place.in_output)
        was_used = slot in self._positions
        self._give_up(slot)
        self._free.remove(slot)
        self._positions[slot] = place.position
        if place.in_output:
            self._in_output = slot
        return slot, was_used

    def judged(self, first: int) -> None:
        """Record that the logits of a request began at position ``first``."""
        self._judged = first

    def _is_worth(self, begin: int, position: int, step: int) -> bool:
        if position <= self._head or position in self._positions.values():
            return False
        # At its start a pass need not be split.
        return position == begin or position - begin >= step

    def _is_output(self, position: int) -> bool:
        return position >= self._judged > 0

    def _slot(self, *, in_output: bool) -> int:
        if in_output and self._in_output is not None:
            return self._in_output
        if self._free:
            return self._free[-1]
        # The one with the fewest tokens back to the state before it: losing it costs least.
        below = self._head
        gaps = []
        for position, slot in sorted((at, slot) for slot, at in self._positions.items()):
            gaps.append((position - below, slot))
            below = position
        return min(gaps)[1]

    def _give_up(self, slot: int) -> None:
        if self._positions.pop(slot, None) is not None:
            self._free.append(slot)
        if slot == self._in_output:
            self._in_output = None


class RecurrentMemory(msgspec.Struct, frozen=True):
    """What a context with recurrent memory offers to each session."""

    #: Sequences for checkpoints, for each session.
    spares: int
    #: Tokens at the end of a pass that can be rolled back without a checkpoint.
    rollback: int = 0
    #: Tokens per call of llama.cpp; only those of the last call can be rolled back.
    batch: int = 512
    #: Bytes of one state.
    state_bytes: int = 0

    def sequences(self, sessions: int) -> int:
        """Number of sequences that the context needs: one for the head, and those of the sessions."""
        return 1 + sessions * (1 + self.spares)

    def spares_of(self, number: int, sessions: int) -> list[int]:
        """The spare sequences of session ``number``, counted from 1."""
        first = sessions + 1 + (number - 1) * self.spares
        return list(range(first, first + self.spares))


class RecurrentHead(NamedTuple):
    """The sequence that holds only the prompt's head, and its tokens."""

    number: int
    tokens: list[int]


class RecurrentSequence:
    """One numbered sequence as the `KvCache` of a session; it goes back to checkpoints."""

    def __init__(
        self,
        store: SequenceStore,
        number: int,
        spares: Sequence[int],
        head: RecurrentHead,
        memory: RecurrentMemory,
        make_room: Callable[[int], None],
    ) -> None:
        """Start with the head; ``make_room`` drops all sessions except the one with that number."""
        self.number = number
        self._store = store
        self._head = head
        self._memory = memory
        self._make_room = make_room
        self._checkpoints = Checkpoints(spares, len(head.tokens))
        self._tokens = list(head.tokens)
        # Where the current request differs from the last one.
        self._wanted = len(self._tokens)
        # False while the memory may hold anything after a failed pass.
        self._is_known = True
        # Tokens that llama.cpp can roll back now, and whether it has just done so: then the state must be
        # neither copied nor rolled back further before the next pass.
        self._revocable = 0
        self._is_taken_back = False

    def cut(self, length: int) -> int:
        """Drop what was held from ``length`` on, and what is before it back to a kept state."""
        self._wanted = length
        for spare in self._checkpoints.drop_after(length):
            self._store.cut_sequence(spare, 0)
        held = len(self._tokens)
        if self._is_known and length == held:
            return held
        self._is_taken_back = self._is_known and 0 < held - length <= self._revocable
        if self._is_taken_back:
            self._store.cut_sequence(self.number, length)
        kept = length if self._is_taken_back else self._go_back(length)
        del self._tokens[kept:]
        self._is_known, self._revocable = True, 0
        return kept

    def evaluate(self, tokens: Sequence[int], start: int, rows: int) -> Logits:
        """Append ``tokens`` at ``start``, keeping a state on the way if that is worth it."""
        wanted = max(self._wanted, start)
        try:
            return self._evaluate(tokens, start, rows, wanted)
        except NoRoom:
            self._make_room(self.number)
            # Part of the pass may be in the memory, so the tokens before it are evaluated again, too.
            before = self._tokens[:start]
            kept = self.cut(start)
            return self._evaluate([*before[kept:], *tokens], kept, rows, wanted)

    def _evaluate(self, tokens: Sequence[int], start: int, rows: int, wanted: int) -> Logits:
        end = start + len(tokens)
        first = end - rows
        # The rows judge the last ``rows - 1`` tokens; the last row judges what comes next.
        can_take_all_back = rows - 1 <= self._memory.rollback
        for place in self._checkpoints.places(start, wanted, end if can_take_all_back else first, end):
            if place.position > start:
                self._pass(tokens[: place.position - start], start, 0)
                tokens, start = tokens[place.position - start :], place.position
            if not self._is_taken_back:
                self._keep(place)
        self._checkpoints.judged(first)
        return self._pass(tokens, start, rows)

    def _pass(self, tokens: Sequence[int], start: int, rows: int) -> Logits:
        self._is_known = False
        logits = self._store.evaluate(self.number, tokens, start, rows)
        self._tokens[start:] = tokens
        self._is_known, self._is_taken_back = True, False
        last_call = (len(tokens) - 1) % self._memory.batch + 1
        self._revocable = min(self._memory.rollback, last_call - 1)
        return logits

    def _keep(self, place: Place) -> None:
        slot, was_used = self._checkpoints.keep(place)
        if was_used:
            self._store.cut_sequence(slot, 0)
        self._store.copy_sequence(self.number, slot)

    def _go_back(self, length: int) -> int:
        best = self._checkpoints.best(length) or self._shared_head(length)
        self._store.cut_sequence(self.number, 0)
        if best is None:
            return 0
        source, kept = best
        self._store.copy_sequence(source, self.number)
        return kept

    def _shared_head(self, length: int) -> tuple[int, int] | None:
        count = len(self._head.tokens)
        if 0 < count <= length and self._tokens[:count] == self._head.tokens:
            return self._head.number, count
        return None
