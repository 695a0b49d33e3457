"""The translate stage for rooms in a dataflow, on the toy model. (Bytewax leaves its runners unannotated.)"""

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

import pytest
from bytewax import operators as op
from bytewax.dataflow import Dataflow, Stream
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSink, TestingSource, cluster_main, run_main
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from typing_extensions import override

from connectors.recovery import forget_unfinished
from operators.clock import VirtualClock
from operators.decoding.forward import Logits
from operators.decoding.translator import Output, SegmentState
from operators.events import Effort, Partial, Translation
from operators.models.kv import Part
from operators.serving.rooms import Rooms, RoomsThread, Update
from operators.stages import translate_rooms as translate_rooms_stage
from operators.stages.translate import translate
from operators.stages.translate_rooms import translate_rooms
from operators.trouble import Trouble
from tests.operators.serving.toy_rooms import (
    Segments,
    alone,
    fail,
    methods,
    scheduler,
    talks,
    tokens_alone,
    toy_rooms,
)
from tests.toy import ToyStore

#: A text that some stores cannot read, and its tokens, which the toy never says.
POISON = "e e e"


def is_poisoned(tokens: Sequence[int]) -> bool:
    return ", 6, 6, 6" in str(list(tokens))


ToyRooms = RoomsThread


def rooms(
    store: ToyStore | None = None,
    *,
    method: str = "ssbd",
    sessions: int = 3,
    fill: int = 16,
    keep_up: bool = False,
) -> ToyRooms:
    return RoomsThread(toy_rooms(scheduler(sessions, fill, store), method, keep_up=keep_up))


def partial(
    text: str, *, stream: str = "s", segment: int = 0, revision: int = 0, is_final: bool = False
) -> Partial:
    return Partial(
        stream=stream, segment=segment, revision=revision, is_final=is_final, text=text,
        start_s=0.0, end_s=revision + 0.5, arrival_s=revision + 1.0,
    )  # fmt: skip


def partials(updates: Iterable[Update]) -> list[Partial]:
    return [
        partial(one.text, stream=one.room, segment=one.segment, revision=number, is_final=one.is_final)
        for number, one in enumerate(updates)
    ]


def flow(
    source: Any,
    out: list[Translation],
    served: ToyRooms,
    note: Callable[[Trouble | None, str], None] = lambda _trouble, _why: None,
) -> Dataflow:
    dataflow = Dataflow("test")
    up = op.input("in", dataflow, source)
    translated = translate_rooms("translate", dataflow, up, lambda: served, VirtualClock(), note=note)
    op.output("out", translated, TestingSink(out))
    return dataflow


def run(given: Sequence[Any], served: ToyRooms, batch: int = 2, workers: int = 1) -> list[Translation]:
    out: list[Translation] = []
    dataflow = flow(TestingSource(given, batch_size=batch), out, served)
    if workers == 1:
        run_main(dataflow)  # type: ignore[no-untyped-call]
    else:
        cluster_main(dataflow, [], 0, worker_count_per_proc=workers)  # type: ignore[no-untyped-call]
    served.close()
    return out


class Learning:
    """A translator that says nothing and notes what it is told about a text."""

    def __init__(self) -> None:
        self.learned: list[dict[str, bool]] = []

    def updating(self, _key: str, state: SegmentState, _text: str, **how: bool) -> Any:
        self.learned.append(how)
        return state, Output((), (), Effort())
        yield

    def release(self, _key: str, _state: SegmentState) -> None:
        """Nothing is held."""


def test_the_translator_learns_which_text_is_stable() -> None:
    translator: Any = Learning()
    stable = replace(partial("a b"), is_stable=True)
    served = RoomsThread(Rooms(scheduler(1, 16), translator, keep_up=False))
    out = run([partial("a b"), stable, partial("a b", is_final=True)], served)
    assert [how["is_stable"] for how in translator.learned] == [False, True, False]
    assert [one.is_stable for one in out] == [False, True, False]


def by_segment(out: Iterable[Translation]) -> Segments:
    made: Segments = {}
    for one in out:
        made.setdefault((one.stream, one.segment), []).append(one.tokens)
    return made


@given(talks(), methods, st.integers(1, 6), st.integers(1, 12), st.booleans(), st.integers(1, 9))
def test_any_number_of_rooms_get_through_the_stage_what_each_gets_alone(
    updates: list[Update], method: str, sessions: int, fill: int, keep_up: bool, batch: int
) -> None:
    given = partials(updates)
    out = run(given, rooms(method=method, sessions=sessions, fill=fill, keep_up=keep_up), batch)
    translated = {(one.stream, one.revision) for one in out}
    said = [
        one for one, event in zip(updates, given, strict=True) if (event.stream, event.revision) in translated
    ]
    want = tokens_alone(alone(method), said)
    assert by_segment(out) == want
    assert len(out) + sum(one.overtaken for one in out) == len(given)
    assert keep_up or len(out) == len(given)
    for stream in {one.stream for one in given}:
        # Segments follow each other in these rooms, so the order is that of arrival.
        order = [one.revision for one in out if one.stream == stream]
        assert order == sorted(order)
        finals = [one.revision for one in given if one.stream == stream and one.is_final]
        assert [one.revision for one in out if one.stream == stream and one.is_final] == finals


def test_a_room_is_told_what_its_stream_said_before_and_nothing_of_others() -> None:
    said = [Update(room, number, text, is_final=True) for number, text in enumerate("abc") for room in "st"]
    served = RoomsThread(toy_rooms(scheduler(3, 16), context=1, keep_up=False))
    made = by_segment(run(partials(said), served))
    assert made == tokens_alone(alone("retranslate", context=1), said)
    assert made != tokens_alone(alone("retranslate"), said)


class Gate(ToyStore):
    """Computes nothing while it is closed."""

    def __init__(self, sequences: int = 5) -> None:
        self.is_open, self.waits = Event(), Event()
        self.is_open.set()
        super().__init__(sequences)

    @override
    def evaluate(self, sequence: int, tokens: Sequence[int], start: int, rows: int) -> Logits:
        self._pass()
        return super().evaluate(sequence, tokens, start, rows)

    @override
    def evaluate_parts(self, parts: Sequence[Part]) -> list[Logits]:
        self._pass()
        return super().evaluate_parts(parts)

    def _pass(self) -> None:
        if not self.is_open.is_set():
            self.waits.set()
            assert self.is_open.wait(60)


class Steps(DynamicSource[Partial]):
    """Takes a step in each turn: gives partials, waits until something is so, or does something."""

    def __init__(self, *steps: Partial | Callable[[], bool | None]) -> None:
        self.steps = list(steps)

    @override
    def build(self, step_id: str, worker_index: int, worker_count: int) -> "_Steps":
        return _Steps(self.steps if worker_index == 0 else [])


class _Steps(StatelessSourcePartition[Partial]):
    def __init__(self, steps: list[Partial | Callable[[], bool | None]]) -> None:
        self.steps, self.until = steps, monotonic() + 60

    @override
    def next_batch(self) -> list[Partial]:
        if not self.steps:
            raise StopIteration
        assert monotonic() < self.until
        step = self.steps[0]
        if isinstance(step, Partial):
            del self.steps[0]
            return [step]
        if step() is not False:
            self.steps.pop(0)
        return []


def test_a_worker_goes_on_while_the_model_computes_and_shows_each_result_when_it_is_there() -> None:
    store, out = Gate(), list[Translation]()
    served = rooms(store)
    store.is_open.clear()
    steps = Steps(
        partial("a b", stream="one"),
        store.waits.is_set,
        # The model computes, and yet more partials are taken.
        partial("a c", stream="two"),
        partial("b c", stream="three"),
        lambda: served._places._value == 10_000 - 3,
        lambda: not out,
        store.is_open.set,
        # The input goes on, and the results are shown all the same.
        lambda: len(out) == 3,
    )
    run_main(flow(steps, out, served))  # type: ignore[no-untyped-call]
    served.close()
    assert {one.stream for one in out} == {"one", "two", "three"}


def test_at_the_end_of_its_input_everything_is_translated() -> None:
    store, out = Gate(), list[Translation]()
    served = rooms(store)
    store.is_open.clear()
    given = [partial("a b", stream=f"s{number}", is_final=number % 2 == 0) for number in range(6)]
    run_main(flow(Steps(*given, store.waits.is_set, store.is_open.set), out, served))  # type: ignore[no-untyped-call]
    served.close()
    assert sorted(one.stream for one in out) == [one.stream for one in given]


@pytest.mark.parametrize("workers", [1, 3])
def test_the_translations_of_a_stream_keep_their_order_whatever_the_workers(workers: int) -> None:
    given = [
        partial(text, stream=stream, segment=segment, revision=revision, is_final=revision == 1)
        for segment in range(20)
        for stream in ("s0", "s1", "s2", "s3")
        for revision, text in enumerate(("a", "a b"))
    ]
    out = run(given, rooms(), workers=workers)
    for stream in ("s0", "s1", "s2", "s3"):
        said = [(one.segment, one.revision) for one in out if one.stream == stream]
        assert said == [(segment, revision) for segment in range(20) for revision in (0, 1)]


def test_a_failed_update_names_its_room_and_the_others_go_on() -> None:
    store = ToyStore(5)
    store.before = lambda sequence, tokens: is_poisoned([0, *tokens]) and fail(sequence, tokens)
    noted, out = list[tuple[Trouble | None, str]](), list[Translation]()
    given = [
        partial("a", stream="good"),
        partial("a", stream="bad"),
        partial(POISON, stream="bad", revision=1),
        partial("a b", stream="good", revision=1),
    ]
    served = rooms(store)
    run_main(  # type: ignore[no-untyped-call]
        flow(TestingSource(given), out, served, lambda trouble, why: noted.append((trouble, why)))
    )
    served.close()
    assert {(one.stream, one.revision): one.trouble for one in out} == {
        ("good", 0): None,
        ("good", 1): None,
        ("bad", 0): None,
        ("bad", 1): Trouble.FAILED_PASS,
    }
    # The caption stays.
    assert len({one.text for one in out if one.stream == "bad"}) == 1
    assert (Trouble.FAILED_PASS, "segment bad/000000: llama_decode returned -3") in noted
    assert (None, "segment good/000000") in noted


def test_a_defect_ends_the_run_with_its_own_error() -> None:
    def break_down(_sequence: int, tokens: Sequence[int]) -> None:
        if is_poisoned([0, *tokens]):
            raise KeyError("a defect")

    store = ToyStore(5)
    store.before = break_down
    served = rooms(store)
    with pytest.raises(Exception) as raised:  # noqa: PT011 - Bytewax wraps it
        run_main(flow(TestingSource([partial(POISON)]), [], served))  # type: ignore[no-untyped-call]
    served.close()
    error: BaseException | None = raised.value
    while error is not None and not isinstance(error, KeyError):
        error = error.__cause__
    assert str(error) == "'a defect'"


def test_segments_that_never_end_are_forgotten_at_last_and_begun_anew_when_they_come_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(translate_rooms_stage, "MAX_OPEN", 8)
    out, served = list[Translation](), rooms()
    many = [partial("one two", segment=number) for number in range(9)]
    again = [partial("one two three", segment=number, revision=1) for number in (0, 2)]
    run_main(flow(Steps(*many, lambda: len(out) == 9, *again), out, served))  # type: ignore[no-untyped-call]
    served.close()
    last = {one.segment: one.effort.drafted > 0 for one in out if one.revision == 1}
    assert last == {0: False, 2: True}


def test_a_segment_longer_than_the_context_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    long = " ".join(["a"] * 150)
    run([partial(long + more, revision=number) for number, more in enumerate(("", " b", " b c"))], rooms())
    assert [record.message for record in caplog.records] == [
        "segment s/000000 is longer than the context and is translated in parts"
    ]


def recovered(folder: Path) -> dict[str, Any]:
    """The options of a run that resumes the one before it, as surtitle's own do."""
    if not any(folder.iterdir()):
        init_db_dir(folder, 1)  # type: ignore[no-untyped-call]
    forget_unfinished(folder)
    recovery = RecoveryConfig(folder, backup_interval=timedelta(0))  # type: ignore[no-untyped-call]
    return {"epoch_interval": timedelta(0), "recovery_config": recovery}


def outputs(out: Iterable[Translation]) -> dict[tuple[str, int, int], tuple[tuple[int, ...], int]]:
    return {(one.stream, one.segment, one.revision): (one.tokens, one.effort.drafted) for one in out}


GIVEN = [
    partial(
        text, stream=stream, segment=segment, revision=revision, is_final=text == "b b c a" and segment == 0
    )
    for revision, text in enumerate(("a b", "a b c", "b b c", "b b c a"))
    for segment in (0, 1)
    for stream in ("s", "t")
]


def test_open_segments_come_back_with_their_drafts_after_an_abort(tmp_path: Path) -> None:
    want, got = run(GIVEN, rooms()), list[Translation]()
    for end in (5, 11, len(GIVEN)):
        served = rooms()
        broken = [*GIVEN[:end], TestingSource.ABORT(), *GIVEN[end:]] if end < len(GIVEN) else GIVEN
        run_main(flow(TestingSource(broken, batch_size=2), got, served), **recovered(tmp_path))  # type: ignore[no-untyped-call]
        served.close()
    assert outputs(got) == outputs(want)


def test_what_was_in_flight_when_a_run_was_aborted_is_translated_by_the_next_one(tmp_path: Path) -> None:
    want = run(GIVEN, rooms())
    store, first = Gate(), list[Translation]()
    served = rooms(store)
    store.is_open.clear()
    broken = [*GIVEN, TestingSource.ABORT()]
    # Everything is handed in and stored, and nothing is translated, when the run ends.
    run_main(flow(TestingSource(broken, batch_size=3), first, served), **recovered(tmp_path))  # type: ignore[no-untyped-call]
    assert not first
    store.is_open.set()
    served.close()
    again, second = rooms(), list[Translation]()
    run_main(flow(TestingSource(broken, batch_size=3), second, again), **recovered(tmp_path))  # type: ignore[no-untyped-call]
    again.close()
    assert outputs(second) == outputs(want)
    assert len(second) == len(want)


@pytest.mark.parametrize("rooms_first", [True, False])
@pytest.mark.parametrize("keep_up", [True, False])
def test_a_run_is_resumed_with_rooms_or_without(tmp_path: Path, *, rooms_first: bool, keep_up: bool) -> None:
    store, out = Gate(), list[Translation]()
    served = rooms(store, keep_up=keep_up)
    # Aborted before anything that waits is translated.
    store.is_open.clear() if rooms_first else None
    broken = [*GIVEN, TestingSource.ABORT()]
    for turn in range(2):
        dataflow = Dataflow("test")
        up: Stream[Partial] = op.input("in", dataflow, TestingSource[Any](broken, batch_size=20))
        if (turn == 0) == rooms_first:
            translated = translate_rooms("translate", dataflow, up, lambda: served, VirtualClock())
        else:
            translated = translate("translate", up, lambda: alone("ssbd"), VirtualClock(), keep_up=keep_up)
        op.output("out", translated, TestingSink(out))
        run_main(dataflow, **recovered(tmp_path))  # type: ignore[no-untyped-call]
        store.is_open.set()
    served.close()
    finals = [(one.stream, one.segment, one.revision) for one in out if one.is_final]
    assert sorted(finals) == [("s", 0, 3), ("t", 0, 3)]
    assert len(out) + sum(one.overtaken for one in out) == len(GIVEN)
    if not keep_up:
        assert outputs(out) == outputs(run(GIVEN, rooms()))
