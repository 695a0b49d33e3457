"""Live rooms on the toy model, on a clock that the toy's passes move."""

from collections.abc import Sequence

from operators.decoding.forward import Logits
from operators.decoding.translator import SegmentState
from operators.models.store import Part
from operators.serving.rooms import Done
from operators.serving.segments import Translated
from operators.serving.simulation import Heard, Lived, Recording, SimulatedClock, live
from tests.operators.serving.toy_rooms import scheduler, toy_rooms
from tests.toy import ToyStore

WORDS = ["a", "a b", "a b c", "a b c d"]
TALK = [Heard(number // 4, WORDS[number % 4], number % 4 == 3, number / 2) for number in range(40)]


class Timed(ToyStore):
    """Takes its time for each pass, whatever is in it."""

    def __init__(self, sequences: int, clock: SimulatedClock, pass_s: float) -> None:
        self.is_ready = False
        super().__init__(sequences)
        self.clock, self.pass_s = clock, pass_s

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        self.clock.now_s += self.pass_s
        return super().evaluate(sequence, tokens, start, rows)

    def evaluate_parts(self, parts: Sequence[Part]) -> list[Logits]:
        self.clock.now_s += self.pass_s
        return [self.caches[sequence].evaluate(*evaluation) for sequence, evaluation in parts]


def run(rooms: int, pass_s: float, most: int | None = None) -> Lived:
    clock = SimulatedClock()
    served = scheduler(8, 64, Timed(9, clock, pass_s), most)
    clock.now_s = 0.0  # the head was evaluated before

    def tokens(done: Done[SegmentState, Translated]) -> int:
        return len(done.made.output.tokens)

    return live(toy_rooms(served), Recording(TALK).arrivals(rooms, 10.0), clock, tokens)


def test_a_model_that_is_fast_enough_drops_nothing() -> None:
    lived = run(3, 0.001)
    assert lived.dropped == 0
    assert lived.updates == len(list(Recording(TALK).arrivals(3, 10.0)))
    assert lived.latencies_s.at(1.0)[0] < 0.2


def test_a_model_that_is_too_slow_drops_partials_and_no_finals() -> None:
    said = list(Recording(TALK).arrivals(8, 10.0))
    lived = run(8, 0.2, most=1)
    assert lived.dropped > 0
    assert lived.updates + lived.dropped == len(said)
    assert lived.finals == sum(update.is_final for update in said)


def test_passes_that_rooms_share_keep_up_where_one_after_the_other_does_not() -> None:
    together, alone = run(8, 0.05), run(8, 0.05, most=1)
    assert together.dropped < alone.dropped
    assert together.seconds <= alone.seconds
