"""The deduplicate stage lets each update through once, whatever comes again."""

from itertools import chain
from typing import Any

import msgspec
from bytewax import operators as op
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, run_main
from hypothesis import given
from hypothesis import strategies as st

from operators.events import Partial
from operators.stages.deduplicate import Seen, deduplicate

#: How many updates each segment of a stream has.
streams = st.dictionaries(
    st.sampled_from(["a", "b"]), st.lists(st.integers(1, 4), min_size=1, max_size=5), min_size=1
)


def partial(stream: str, segment: int, revision: int, updates: int) -> Partial:
    return Partial(
        stream=stream, segment=segment, revision=revision, is_final=revision == updates - 1, text="",
        start_s=0.0, end_s=1.0, arrival_s=1.0,
    )  # fmt: skip


def spoken(segments: dict[str, list[int]]) -> list[Partial]:
    return [
        partial(stream, segment, revision, updates)
        for stream, counts in segments.items()
        for segment, updates in enumerate(counts)
        for revision in range(updates)
    ]


@given(streams, st.data())
def test_of_updates_that_are_sent_again_each_comes_once_and_in_order(
    segments: dict[str, list[int]], data: st.DataObject
) -> None:
    sent = spoken(segments)
    # A producer that was not answered goes back to some earlier place, again and again.
    again = [data.draw(st.integers(0, end)) for end in range(1, len(sent) + 1)]
    repeated = list(chain.from_iterable(sent[begin:end] for end, begin in enumerate(again, 1)))
    missed = [one for one in sent if one not in repeated]
    seen: dict[str, Seen] = {}
    once = [
        one
        for one in [*repeated, *missed]
        if seen.setdefault(one.stream, Seen()).is_new(one.segment, one.revision, is_final=one.is_final)
    ]
    keys = [(one.stream, one.segment, one.revision) for one in once]
    assert len(keys) == len(set(keys))
    # Every final is there, and nothing of its segment comes after it.
    finals = {(one.stream, one.segment) for one in once if one.is_final}
    assert finals == {(one.stream, one.segment) for one in sent if one.is_final}
    for stream, segment in finals:
        assert [one.is_final for one in once if (one.stream, one.segment) == (stream, segment)][-1]


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


def test_repeats_are_counted() -> None:
    flow, once, repeated = Dataflow("test"), list[Any](), list[Any]()
    sent = spoken({"a": [2, 1], "b": [1]})
    events = op.input("in", flow, TestingSource([*sent, *sent]))
    op.output("out", deduplicate("deduplicate", events, repeated.append), TestingSink(once))
    run_main(flow)  # type: ignore[no-untyped-call]  # Bytewax leaves it unannotated
    assert once == sent
    assert repeated == sent
