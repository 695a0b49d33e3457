"""Translation services: what is superseded, what never is, who is next, and what a failure costs."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from threading import Event
from time import sleep

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from operators.decoding.forward import Logits
from operators.events import Partial
from operators.model_errors import CacheFullError
from operators.models.kv import Part
from operators.serving import queues
from operators.serving.admission import QUIET_S, AdmissionControl
from operators.serving.queues import FairQueue, StreamQueue
from operators.serving.scheduler import PATIENCE, Scheduler
from operators.serving.service import DirectService, ModelQueue, ThreadService
from tests.operators.serving.toys import (
    HEAD,
    METHODS,
    Streams,
    alone,
    by_segment,
    methods,
    model_of,
    outputs_alone,
    partial,
    scheduler,
    talks,
    texts,
)
from tests.toy import ToyStore


class Crowded(ToyStore):
    """A store with so many cells for all sequences together."""

    def __init__(self, sequences: int) -> None:
        super().__init__(sequences)
        # For the head, and for one session with all that it may need, but seldom for another.
        self.cells = 2 * len(HEAD) + 10 + 1 + 12 + 1

    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        if sum(len(cache.tokens) for cache in self.caches) + len(tokens) > self.cells:
            self.caches[sequence].tokens.append(1)  # llama.cpp may have got half-way
            raise CacheFullError("llama_decode returned 1")
        return super().evaluate(sequence, tokens, start, rows)


def steps(data: st.DataObject) -> Iterator[int]:
    while True:
        yield data.draw(st.integers(0, 4))


@given(talks(), methods, st.integers(2, 6), st.integers(1, 12), st.booleans(), st.booleans(), st.data())
def test_streams_that_share_a_model_get_what_each_gets_alone(
    talk: list[Partial],
    method: str,
    sessions: int,
    fill: int,
    keep_up: bool,
    is_split: bool,
    data: st.DataObject,
) -> None:
    max_source = 2 if is_split else 100
    model = model_of(scheduler(sessions, fill), method, max_source=max_source)
    streams, got = Streams(keep_up=keep_up), []
    for one, count in zip(talk, steps(data), strict=False):
        streams.put(model, one)
        for _ in range(count):
            model.step()
        got += streams.responses()
    got += streams.finish(model)
    translated = [one.partial for one in got]
    assert by_segment(got) == outputs_alone(alone(method, max_source=max_source), translated)
    assert [one for one in talk if one.is_final] == sorted(
        (one for one in translated if one.is_final), key=talk.index
    )
    assert keep_up or sorted(translated, key=talk.index) == talk
    # The states that are left are those of open segments.
    left = {(name, segment) for name, queue in streams.queues.items() for segment in queue.states}
    over = {(one.channel, one.segment) for one in talk if one.is_final}
    assert left == {(one.channel, one.segment) for one in talk} - over


@given(talks(), methods, st.integers(2, 5))
def test_a_memory_that_is_full_loses_caches_and_no_results(
    talk: list[Partial], method: str, sessions: int
) -> None:
    model, streams = model_of(scheduler(sessions, 64, Crowded(sessions + 1)), method), Streams(keep_up=False)
    streams.put(model, *talk)
    got, want = by_segment(streams.finish(model)), outputs_alone(alone(method), talk)
    assert {key: [tokens for tokens, *_ in each] for key, each in got.items()} == {
        key: [tokens for tokens, *_ in each] for key, each in want.items()
    }


def test_a_stream_is_told_what_it_said_before_and_nothing_of_others() -> None:
    talk = [
        partial(text, stream=stream, segment=number, is_final=True)
        for number, text in enumerate("abc")
        for stream in "st"
    ]
    model, streams = model_of(scheduler(3, 16), context=1), Streams()
    streams.put(model, *talk)
    made = by_segment(streams.finish(model))
    assert made == outputs_alone(alone("retranslate", context=1), talk)
    assert made != outputs_alone(alone("retranslate"), talk)


def test_only_the_newest_partial_of_a_segment_is_translated_and_finals_go_before_partials() -> None:
    model, streams = model_of(scheduler(2, 64)), Streams()
    streams.put(
        model, partial("c", segment=1), partial("a"), partial("a b"), partial("c d", segment=1),
        partial("a b c", is_final=True), partial("e", segment=2),
    )  # fmt: skip
    assert [one.partial.text for one in streams.finish(model)] == ["a b c", "c d", "e"]


def test_streams_that_need_not_keep_up_translate_every_update_in_its_order() -> None:
    model, streams = model_of(scheduler(2, 64)), Streams(keep_up=False)
    talk = [
        partial("a"),
        partial("a b"),
        partial("c", segment=1, is_final=True),
        partial("a b c", is_final=True),
    ]
    streams.put(model, *talk)
    assert [one.partial for one in streams.finish(model)] == talk


def test_the_oldest_of_too_many_open_segments_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queues, "MAX_OPEN", 8)
    model, streams = model_of(scheduler(3, 16), "ssbd"), Streams()
    streams.put(model, *(partial("a b", segment=number) for number in range(9)))
    streams.finish(model)
    streams.put(model, *(partial("a b c", segment=number) for number in (0, 2)))
    assert [one.output.effort.drafted > 0 for one in streams.finish(model)] == [False, True]


def stream_of(*, is_final: bool = False) -> StreamQueue:
    stream = StreamQueue({}, lambda _response: None, keep_up=True)
    stream.put(partial("a", is_final=is_final))
    return stream


@given(st.integers(1, 5))
def test_finals_without_end_let_others_by_in_their_order(count: int) -> None:
    line, others, left = FairQueue(), [stream_of() for _ in range(count)], []
    for other in others:
        line.join(other)
    for _ in range((PATIENCE + 1) * count):
        line.join(stream_of(is_final=True))
        left.append(line.next())
    assert [stream for stream in left if stream in others] == others
    assert left[0] not in others


def test_a_stream_that_waits_moves_up_with_a_final_and_leaves_once() -> None:
    line, early, late = FairQueue(), stream_of(), stream_of()
    for stream in (early, late, early):
        line.join(stream)
    late.put(partial("b", segment=1, is_final=True))
    line.join(late)
    late.put(partial("c", segment=2))
    line.join(late)
    assert [line.next(), line.next(), len(line)] == [late, early, 0]


# In a thread of its own


def started(served: Scheduler) -> ThreadService:
    model = model_of(served)
    return ThreadService([model], lambda _update: model)


class BlockingStore(ToyStore):
    """Waits in its first pass after `hold` until it may go on; `waits` is set meanwhile."""

    def __init__(self, sequences: int) -> None:
        super().__init__(sequences)
        self.waits, self.may_go_on = Event(), Event()
        self.sizes: list[int] = []
        self.before = lambda _sequence, _tokens: None

    def hold(self, defect: Exception | None = None) -> None:
        def wait(_sequence: int, _tokens: Sequence[int]) -> None:
            self.before = lambda _sequence, _tokens: None
            self.waits.set()
            assert self.may_go_on.wait(60)
            if defect is not None:
                raise defect

        self.before = wait

    def evaluate_parts(self, parts: Sequence[Part]) -> list[Logits]:
        self.sizes.append(len(parts))
        return super().evaluate_parts(parts)


def test_what_comes_while_the_model_computes_is_in_the_next_pass_together() -> None:
    store, streams = BlockingStore(7), Streams()
    service = started(scheduler(6, 64, store))
    store.hold()
    streams.submit(service, partial("a b", stream="first"))
    assert store.waits.wait(60)
    streams.submit(service, *(partial("a b c", stream=str(number)) for number in range(4)))
    assert not streams.responses()
    store.may_go_on.set()
    assert {one.partial.stream for one in streams.wait(5)} == {"first", "0", "1", "2", "3"}
    service.stop()
    assert max(store.sizes) >= 4


def test_a_defect_reaches_all_who_wait_and_whoever_comes_later() -> None:
    store, streams = BlockingStore(3), Streams()
    service = started(scheduler(2, 64, store))
    store.hold(KeyError("a defect"))
    streams.submit(service, partial("a", stream="begun"))
    assert store.waits.wait(60)
    streams.submit(service, partial("a", stream="one"), partial("b", stream="two"))
    store.may_go_on.set()
    assert all(isinstance(error, KeyError) for error in streams.wait(3))
    with pytest.raises(KeyError):
        streams.submit(service, partial("a", stream="later"))


def test_it_is_stopped_after_the_pass_in_progress() -> None:
    store, streams = BlockingStore(3), Streams(keep_up=False)
    service = started(scheduler(2, 64, store))
    store.hold()
    streams.submit(service, *(partial("a b" if number % 2 else "b c") for number in range(100)))
    assert store.waits.wait(60)
    with ThreadPoolExecutor(1) as workers:
        stopping = workers.submit(service.stop)
        while service._inbox.empty():
            sleep(0.001)
        store.may_go_on.set()
        stopping.result(60)
    assert len(streams.responses()) <= 1


# On several models

#: The methods differ in what they show, so a stream that gets to the wrong model shows something else.
TWO = ("retranslate", "ssbd")


def place(channel: str) -> int:
    """The number of the model of a stream."""
    return int(channel[-1]) % 2


def routed(*stores: ToyStore) -> tuple[list[ModelQueue], ThreadService]:
    """A model for streams whose names end with an even number and one for the others, on a thread."""
    models = [model_of(scheduler(1, 16, store), method) for store, method in zip(stores, TWO, strict=True)]
    return models, ThreadService(models, lambda update: models[place(update.channel)])


def passes(*talk: Partial) -> tuple[list[int], list[str]]:
    """The models of the passes that the updates take, which wait at the same time; and what ends when."""
    order: list[int] = []
    stores = [BlockingStore(2), BlockingStore(2)]
    (_, service), streams = routed(*stores), Streams()
    stores[0].hold()
    streams.submit(service, partial("f", stream="first0"))
    assert stores[0].waits.wait(60)
    for number, store in enumerate(stores):
        store.before = lambda _sequence, _tokens, number=number: order.append(number)  # type: ignore[misc]
    streams.submit(service, *talk)
    stores[0].may_go_on.set()
    names = [one.partial.stream for one in streams.wait(1 + len({one.key for one in talk}))]
    service.stop()
    return order, [name for name in names if name != "first0"]


def test_the_model_goes_on_whose_update_has_waited_longest_as_long_as_the_one_that_it_superseded() -> None:
    order, ended = passes(
        partial("a", stream="a1"), partial("a b c", stream="a0"), partial("a b c", stream="b1"),
        partial("a b c", stream="a1"),
    )  # fmt: skip
    assert ended == ["a1", "a0", "b1"]
    # One after the other: in turns, both would end late. The first pass is that of the update before.
    assert [model for model, _ in groupby(order)][-3:] == [1, 0, 1]


def test_finals_of_any_model_come_first_and_do_not_hold_up_another_model_for_ever() -> None:
    finals = [partial("a b c d", stream=f"{number}-1", is_final=True) for number in range(120)]
    ended = passes(partial("a b c", stream="a0"), *finals)[1]
    assert 0 < ended.index("a0") < len(finals)


@given(st.lists(st.tuples(st.booleans(), texts), min_size=1, max_size=12))
def test_a_stream_keeps_its_order_when_its_speaker_changes_between_the_languages_of_two_models(
    talk: list[tuple[bool, str]],
) -> None:
    models = [model_of(scheduler(1, 16, ToyStore(2)), method) for method in TWO]
    service, streams = ThreadService(models, lambda update: models[update.spoken == "fr"]), Streams()
    said = [
        replace(partial(text, segment=segment, is_final=True), spoken=("de", "fr")[is_other])
        for segment, (is_other, text) in enumerate(talk)
    ]
    streams.submit(service, *said)
    ended = [one.partial for one in streams.wait(len(said))]
    service.stop()
    assert ended == said


# In the thread of the caller


@given(talks(), st.sampled_from(list(METHODS)))
def test_the_caller_gets_what_is_due_at_once_and_a_partial_in_each_later_turn(
    talk: list[Partial], method: str
) -> None:
    model, streams = alone(method), Streams()
    service = DirectService(lambda _update: model)
    streams.submit(service, *talk)
    got = streams.responses()
    assert [one.partial for one in got] == [one for one in talk if one.is_final]
    for queue in streams.queues.values():
        service.advance(queue)
        assert not streams.responses(), "finals are shown first"
        while queue:
            service.advance(queue)
            (one,) = streams.responses()
            got.append(one)
    assert by_segment(got) == outputs_alone(alone(method), [one.partial for one in got])


def test_segments_that_have_ended_hold_no_sessions() -> None:
    store = ToyStore(4)
    model, streams = model_of(scheduler(3, 64, store)), Streams()
    streams.put(model, partial("a b"))
    streams.finish(model)
    assert any(cache.tokens for cache in store.caches[1:])
    streams.put(model, partial("a b c", is_final=True))
    streams.finish(model)
    assert not any(cache.tokens for cache in store.caches[1:])


# Which streams are let in


def test_a_stream_too_many_is_told_of_once_and_counted() -> None:
    told: list[str] = []
    door = AdmissionControl(2, lambda: 0.0, told.append)
    assert [door.admits(stream) for stream in "abab"] == [True] * 4
    assert (door.complaint(), told) == (None, [])
    assert [door.admits(stream) for stream in "cbc"] == [False, True, False]
    assert len(told) == 1
    assert told[0].startswith("room 'c' is refused: 2 rooms are open, the maximum of translate.rooms")
    assert door.refused == 2
    assert door.complaint() == ("2 updates of 1 stream without a place were left out; raise translate.rooms")


def test_a_room_that_has_been_quiet_for_long_gives_its_place_away() -> None:
    now, told = [0.0], list[str]()
    door = AdmissionControl(2, lambda: now[0], told.append)
    assert door.admits("a")
    now[0] = QUIET_S / 2
    assert door.admits("b")
    assert not door.admits("c")
    now[0] = QUIET_S
    assert door.admits("c")
    assert not door.admits("a")
    assert len(told) == 2


def test_streams_with_ever_new_names_are_all_counted_but_not_all_told() -> None:
    told: list[str] = []
    door = AdmissionControl(1, lambda: 0.0, told.append)
    assert door.admits("a")
    assert not any(door.admits(f"stream {number}") for number in range(1500))
    assert len(told) == 1000
    assert (door.complaint() or "").startswith("1500 updates of at least 1000 streams without a place")
