"""The deduplicate stage lets each update through once, whatever comes again."""

from itertools import chain

import msgspec
import pytest
from bytewax import operators as op
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, run_main
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from operators.events import Partial
from operators.stages.deduplicate import Seen, deduplicate

#: How many words each segment of a stream has.
streams = st.dictionaries(
    st.sampled_from(["a", "b"]), st.lists(st.integers(1, 4), min_size=1, max_size=5), min_size=1
)


def session(*segments: str, stream: str = "a", clock_s: float = 0.0) -> list[Partial]:
    """The updates of a recogniser, one for each word; its clock begins at ``clock_s``."""
    return [
        Partial(
            stream=stream, segment=segment, revision=count - 1, is_final=count == len(text.split()),
            text=" ".join(text.split()[:count]), start_s=clock_s + 5.0 * segment,
            end_s=clock_s + 5.0 * segment + count, arrival_s=clock_s + 5.0 * segment + count + 0.1,
        )
        for segment, text in enumerate(segments)
        for count in range(1, len(text.split()) + 1)
    ]  # fmt: skip


def through(events: list[Partial]) -> tuple[list[Partial], list[Partial], list[str]]:
    """What comes out of the stage, what it drops, and what it tells."""
    flow, once, repeated, told = Dataflow("test"), list[Partial](), list[Partial](), list[str]()
    given = op.input("in", flow, TestingSource(events))
    op.output("out", deduplicate("deduplicate", given, repeated.append, told.append), TestingSink(once))
    run_main(flow)  # type: ignore[no-untyped-call]  # Bytewax leaves it unannotated
    return once, repeated, told


@given(streams, st.data())
def test_of_updates_that_are_sent_again_each_comes_once_and_in_order(
    segments: dict[str, list[int]], data: st.DataObject
) -> None:
    sent = [
        event
        for stream, counts in segments.items()
        for event in session(*("so " * count for count in counts), stream=stream)
    ]
    # A producer that was not answered goes back to some earlier place, again and again.
    again = [data.draw(st.integers(0, end - 1)) for end in range(1, len(sent) + 1)]
    once, repeated, told = through(
        list(chain.from_iterable(sent[begin:end] for end, begin in enumerate(again, 1)))
    )
    assert once == sent
    assert len(repeated) == sum(end - begin - 1 for end, begin in enumerate(again, 1))
    assert told == []


MORNING = session("Good morning to all", "We begin now", "It is nine")


@pytest.mark.parametrize("seen", [MORNING, MORNING[:2], MORNING[:6], MORNING[5:]])
@pytest.mark.parametrize(
    "later",
    [
        session("Good evening to all", "We end now", "It is six", "Go home"),
        session("Good morning to all", "We begin now", "It is nine", "Sit down", clock_s=0.25),
        session("Good evening", "We begin now", "It is nine", clock_s=86_400.0),
    ],
)
def test_a_recogniser_that_is_started_again_continues_the_stream(
    seen: list[Partial], later: list[Partial]
) -> None:
    once, repeated, told = through([*seen, *later, *later])
    # A first word that was said before at the same time is no evidence, the next one is.
    missing = len(seen) + len(later) - len(once)
    assert missing <= 1
    assert repeated == [*later[:missing], *later]
    assert [one.text for one in once] == [one.text for one in [*seen, *later[missing:]]]
    # Nobody after this stage has to know that there were two.
    assert once[: len(seen)] == seen
    assert [one.segment - later[0].segment for one in once[len(seen) :]] == [
        seen[-1].segment + 1 + one.segment for one in later[missing:]
    ]
    assert once[len(seen)].start_s >= seen[-1].end_s
    assert all(one.start_s <= one.end_s <= one.arrival_s for one in once)
    assert len(told) == 1
    assert f"go on with segment {seen[-1].segment + 1}" in told[0]


def test_what_a_resumed_recogniser_sends_of_its_session_begins_no_other() -> None:
    first = MORNING[:4]
    # It finishes what was open in its snapshot with the text that it had: live, or of a recording.
    finished = [structs.replace(first[1], revision=2, is_final=True, arrival_s=at_s) for at_s in (9.0, 2.0)]
    # It recognises the same speech again, a little faster.
    again = [structs.replace(one, arrival_s=one.arrival_s - 0.05) for one in first]
    assert through([*first, *finished, *again]) == (first, [*finished, *again], [])


@given(st.permutations(range(12)))
def test_segments_that_end_in_any_order_are_remembered_as_one_range(order: list[int]) -> None:
    seen = Seen()
    for segment in order:
        assert seen.is_new(segment, 3, is_final=True)
        seen = msgspec.msgpack.decode(msgspec.msgpack.encode(seen), type=Seen)
        assert not seen.is_new(segment, 4, is_final=True)
    assert seen == Seen(ended=[(0, 11)])


def test_what_is_remembered_of_a_stream_stays_small() -> None:
    seen = Seen()
    for segment in range(0, 20_000, 2):
        seen.is_new(segment, 0, is_final=True)
        seen.is_new(segment + 1, 0, is_final=False)
    assert len(msgspec.msgpack.encode(seen)) < 20_000
    assert not seen.is_new(19_998, 1, is_final=True)
