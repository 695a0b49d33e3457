"""The deduplicate stage lets each update through once, whatever comes again."""

from itertools import chain

import msgspec
from bytewax import operators as op
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, run_main
from hypothesis import given
from hypothesis import strategies as st

from operators.events import Partial
from operators.stages.deduplicate import UpdateHistory, deduplicate

#: How many updates each segment of a stream has.
streams = st.dictionaries(
    st.sampled_from(["a", "b"]), st.lists(st.integers(1, 4), min_size=1, max_size=5), min_size=1
)


def updates(stream: str, counts: list[int]) -> list[Partial]:
    return [
        Partial(
            stream=stream, segment=segment, revision=revision, is_final=revision == count - 1, text="so",
            start_s=0.0, end_s=1.0, arrival_s=1.0,
        )
        for segment, count in enumerate(counts)
        for revision in range(count)
    ]  # fmt: skip


def through(events: list[Partial]) -> tuple[list[Partial], list[Partial]]:
    """What comes out of the stage, and what it drops."""
    flow, once, repeated = Dataflow("test"), list[Partial](), list[Partial]()
    given = op.input("in", flow, TestingSource(events))
    op.output("out", deduplicate("deduplicate", given, repeated.append), TestingSink(once))
    run_main(flow)  # type: ignore[no-untyped-call]  # Bytewax leaves it unannotated
    return once, repeated


@given(streams, st.data())
def test_of_updates_that_are_sent_again_each_comes_once_and_in_order(
    segments: dict[str, list[int]], data: st.DataObject
) -> None:
    sent = [event for stream, counts in segments.items() for event in updates(stream, counts)]
    # A producer that was not answered goes back to some earlier place, again and again.
    again = [data.draw(st.integers(0, end - 1)) for end in range(1, len(sent) + 1)]
    once, repeated = through(list(chain.from_iterable(sent[begin:end] for end, begin in enumerate(again, 1))))
    assert once == sent
    assert len(repeated) == sum(end - begin - 1 for end, begin in enumerate(again, 1))


def test_nothing_comes_after_a_final_and_what_is_remembered_of_a_stream_stays_small() -> None:
    seen = UpdateHistory()
    for segment in range(0, 20_000, 2):
        assert seen.is_new(segment, 3, is_final=True)
        assert not seen.is_new(segment, 4, is_final=True)
        assert seen.is_new(segment + 1, 0, is_final=False)
        assert not seen.is_new(segment + 1, 0, is_final=True)
    packed = msgspec.msgpack.encode(seen)
    assert len(packed) < 20_000
    resumed = msgspec.msgpack.decode(packed, type=UpdateHistory)
    assert not resumed.is_new(19_998, 4, is_final=True)
    assert not resumed.is_new(0, 4, is_final=True)
    assert resumed.is_new(19_999, 1, is_final=True)
