"""Rooms on a machine that is not at hand: the same scheduler, on a clock that goes by a table of costs.

Each update asks for the passes that it took when it was recorded. What it would have said does not matter:
an update's size is taken from the recording, also where others were overtaken before it.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from operators.decoding.decoder import Decode
from operators.decoding.forward import Decoded, Forward, Method
from operators.decoding.pass_cost import PassCosts
from operators.events import Effort
from operators.serving.fill import fill_of
from operators.serving.live import Lived, live
from operators.serving.passes import Answered, Asked
from operators.serving.recording import Recording
from operators.serving.rooms import Done, Rooms, Update, Waiting, Working
from operators.serving.scheduler import Scheduler


class Recorded(NamedTuple):
    """What an update took when it was recorded."""

    #: Tokens of its first pass, and those before them, which were in the cache.
    first: int
    reused: int
    #: Tokens of each of its other passes.
    others: tuple[int, ...]
    #: Tokens of the translation.
    output: int

    @classmethod
    def of(cls, effort: Effort, output: int) -> "Recorded":
        """What an effort tells: the passes after the first have as many tokens as are left for them."""
        others = max(0, effort.passes - 1)
        # After the first pass there is seldom more than one token in each.
        left = min(max(0, effort.evaluated - 1), effort.proposed + others)
        each, more = divmod(left, others) if others else (0, 0)
        sizes = tuple(max(1, each + (place < more)) for place in range(others))
        first = max(1, effort.evaluated - sum(sizes)) if effort.passes else 0
        return cls(first, effort.prompt_reused, sizes, output)

    def after(self, overtaken: Sequence["Recorded"]) -> "Recorded":
        """The same with what updates that it has overtaken would have decoded, as far as its output goes."""
        others = [size for one in overtaken for size in one.others]
        room = max(0, self.output - sum(self.others))
        return self._replace(others=(*self.others, *others[:room]))


class SimulatedClock:
    """Time that passes only where somebody lets it."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def now(self) -> float:
        """What time it is."""
        return self.now_s

    def wait_until(self, at_s: float) -> None:
        """It is then."""
        self.now_s = max(self.now_s, at_s)


class TimedPasses:
    """The `Passes` of a model that computes nothing, and takes its time.

    A request asks for the tokens that its session has not; where the session was lost, for all but the head.
    """

    def __init__(self, costs: PassCosts, clock: SimulatedClock, sessions: int, head: int) -> None:
        self._costs = costs
        self._clock = clock
        #: Sessions that there is room for.
        self.most = sessions
        self._head = head
        self._open: OrderedDict[str, None] = OrderedDict()

    def size(self, asked: Asked) -> int:
        """Tokens that a pass has to evaluate to answer this."""
        length, reused = len(asked.request.tokens), asked.request.logits_from
        return max(1, length - (reused if asked.key in self._open else min(self._head, reused)))

    def answer(self, asked: Sequence[Asked]) -> Iterator[Answered]:
        """Let the time of a pass go by."""
        sizes = [self.size(one) for one in asked]
        self._clock.now_s += self._costs.of(sum(sizes)) / 1000
        for one, size in zip(asked, sizes, strict=True):
            self._use(one.key)
            length, logits_from = len(one.request.tokens), one.request.logits_from
            yield Answered(np.empty((length - logits_from, 0), np.float32), length - size)

    def succeed(self) -> None:
        """Take note of nothing."""

    def fail(self, key: str) -> None:
        """Drop what ``key`` holds."""
        self.release(key)

    def release(self, key: str) -> None:
        """Free what ``key`` holds."""
        self._open.pop(key, None)

    def _use(self, key: str) -> None:
        if key not in self._open and len(self._open) >= self.most:
            self._open.popitem(last=False)
        self._open[key] = None
        self._open.move_to_end(key)


class Machine(NamedTuple):
    """What is simulated: the costs of its passes, and the sessions that it has memory for."""

    costs: PassCosts
    sessions: int


def simulate(
    machine: Machine,
    recording: Recording,
    recorded: Sequence[Recorded],
    rooms: int,
    seconds: float,
    *,
    most: int | None = None,
    go_on: Callable[[], None] = lambda: None,
) -> tuple[Lived, Scheduler]:
    """Let so many rooms say what was recorded; ``recorded`` has what each update of the recording took.

    ``most`` is that of `Scheduler`, and ``go_on`` that of `live`.
    """
    clock = SimulatedClock()
    head = min((one.reused for one in recorded if one.first), default=0)
    passes = TimedPasses(machine.costs, clock, machine.sessions, head)
    scheduler = Scheduler(passes, fill=fill_of(machine.costs), most=most, clock=clock.now)

    def work(waiting: Waiting, _state: None) -> Working[None, int]:
        update = waiting.update
        own = recorded[update.number].after([recorded[one.number] for one in waiting.overtaken])
        if own.first:
            yield Decode(update.key, _method(own), update.is_final)
        return None, own.output

    def release(update: Update, _state: None) -> None:
        scheduler.release(update.key)

    def tokens(done: Done[int]) -> int:
        return done.made

    served = Rooms(scheduler, work, release, most=rooms)
    return live(served, recording.arrivals(rooms, seconds), clock, tokens, go_on), scheduler


def _method(recorded: Recorded) -> Method:
    """Ask for the passes that were recorded."""
    held = recorded.reused
    for size in (recorded.first, *recorded.others):
        yield Forward(range(held + size), held)
        held += size
    return Decoded(())
