"""The translate stage in a real dataflow, on the toy model. (Bytewax leaves its runners unannotated.)"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

import pytest
from bytewax import operators as op
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSink, TestingSource, cluster_main, run_main
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from typing_extensions import override

from connectors.recovery import forget_unfinished
from operators.clock import VirtualClock
from operators.decoding.drive import Decoder, SequentialDecoder
from operators.decoding.forward import Logits
from operators.decoding.translator import Translator
from operators.events import Partial, Translation
from operators.model_errors import ErrorKind
from operators.models.kv import Part
from operators.models.pool import SessionPool
from operators.serving.service import BatchService, DirectService, ModelQueue, Service, ThreadService
from operators.stages.translate import Note, translate
from tests.operators.serving.toys import (
    HEAD,
    Outputs,
    alone,
    fail,
    methods,
    outputs_alone,
    partial,
    scheduler,
    talks,
    texts,
    translator,
)
from tests.toy import ToyStore

#: Makes what translates, given its decoder.
Make = Callable[[Decoder], Translator]
#: The services that may translate the streams of a run.
KINDS = ("direct", "thread", "batch")


def ssbd(decoder: Decoder) -> Translator:
    return translator(decoder, "ssbd")


def made(
    kind: str, store: ToyStore | None = None, make: Make = ssbd, *, sessions: int = 3, fill: int = 16
) -> Service:
    store = store or ToyStore(sessions + 1)
    if kind == "direct":
        own = make(SequentialDecoder(SessionPool(store, HEAD, sessions)))
        return DirectService(lambda _update: own)
    served = scheduler(sessions, fill, store)
    own = make(served)
    model = ModelQueue(served, lambda _update: own)
    return (
        BatchService(lambda _update: model)
        if kind == "batch"
        else ThreadService([model], lambda _update: model)
    )


def flow(
    source: Any,
    service: Service,
    out: list[Translation],
    *,
    keep_up: bool = False,
    note: Note = lambda _trouble, _why: None,
) -> Dataflow:
    dataflow = Dataflow("test")
    up = op.input("in", dataflow, source)
    translated = translate("translate", up, lambda: service, VirtualClock(), keep_up=keep_up, note=note)
    op.output("out", translated, TestingSink(out))
    return dataflow


def run(given: Sequence[Any], service: Service, batch: int = 2, **how: Any) -> list[Translation]:
    out: list[Translation] = []
    run_main(flow(TestingSource(given, batch_size=batch), service, out, **how))  # type: ignore[no-untyped-call]
    if isinstance(service, ThreadService):
        service.stop()
    return out


def outputs(out: Iterable[Translation]) -> Outputs:
    found: Outputs = {}
    for one in out:
        effort = one.effort
        compared = one.tokens, one.trouble, effort.drafted, effort.accepted, effort.passes
        found.setdefault((one.channel, one.segment), []).append(compared)
    return found


direct_or_thread = pytest.mark.parametrize("kind", ["direct", "thread"])


@direct_or_thread
@given(
    talk=talks(), method=methods, sessions=st.integers(2, 6), keep_up=st.booleans(), batch=st.integers(1, 9)
)
def test_any_number_of_streams_get_what_each_gets_alone(
    kind: str, talk: list[Partial], method: str, sessions: int, keep_up: bool, batch: int
) -> None:
    def make(decoder: Decoder) -> Translator:
        return translator(decoder, method)

    if kind == "direct":
        model = alone(method)
        service: Service = DirectService(lambda _update: model)
    else:
        service = made(kind, make=make, sessions=sessions)
    out = run(talk, service, batch, keep_up=keep_up)
    translated = {(one.stream, one.revision) for one in out}
    said = [one for one in talk if (one.stream, one.revision) in translated]
    assert outputs(out) == outputs_alone(alone(method), said)
    assert len(out) + sum(one.overtaken for one in out) == len(talk)
    assert keep_up or len(out) == len(talk)
    for stream in {one.stream for one in talk}:
        # Segments follow each other in these streams, so the order is that of arrival.
        order = [one.revision for one in out if one.stream == stream]
        assert order == sorted(order)
    finals = {one.key for one in talk if one.is_final}
    assert finals == {one.key for one in out if one.is_final}


@given(st.lists(texts, max_size=40), st.lists(texts, max_size=5), st.integers(1, 5), st.integers(1, 64))
def test_sentences_that_share_passes_are_translated_as_if_they_were_alone_and_in_order(
    said: list[str], others: list[str], sessions: int, fill: int
) -> None:
    talk = [
        partial(text, stream=stream, segment=number, is_final=True)
        for stream, texts in (("talk", said), ("other", others))
        for number, text in enumerate(texts)
    ]
    out = run(talk, made("batch", sessions=sessions, fill=fill))
    assert {key: [tokens for tokens, *_ in each] for key, each in outputs(out).items()} == {
        key: [tokens for tokens, *_ in each] for key, each in outputs_alone(alone("ssbd"), talk).items()
    }
    assert [one.segment for one in out if one.stream == "talk"] == list(range(len(said)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_translation_carries_what_later_stages_need(kind: str) -> None:
    given = [partial("a b", is_final=True), replace(partial("c", is_final=True, segment=1), language="de")]
    out = run(given, made(kind))
    for one, said in zip(sorted(out, key=lambda one: one.segment), given, strict=True):
        assert (one.channel, one.source, one.is_final) == (said.channel, said.text, True)
        assert one.text == "".join(one.pieces)
        assert len(one.pieces) == len(one.tokens)
        assert one.ready_s >= one.arrival_s == said.arrival_s


@direct_or_thread
def test_no_word_of_stable_text_waits(kind: str) -> None:
    told: list[bool] = []

    class RecordingTranslator(Translator):
        def updating(self, *given: Any, **how: Any) -> Any:
            told.append(how["is_stable"])
            return super().updating(*given, **how)

    def make(decoder: Decoder) -> Translator:
        own = ssbd(decoder)
        own.__class__ = RecordingTranslator
        return own

    given = [partial("a b"), replace(partial("a b"), is_stable=True), partial("a b", is_final=True)]
    out = run(given, made(kind, make=make))
    assert told == [one.is_stable for one in out] == [False, True, False]


@direct_or_thread
def test_the_translations_of_a_stream_keep_their_order_whatever_the_workers(kind: str) -> None:
    given = [
        partial(text, stream=stream, segment=segment, revision=revision, is_final=revision == 1)
        for segment in range(20)
        for stream in ("s0", "s1", "s2", "s3")
        for revision, text in enumerate(("a", "a b"))
    ]
    out: list[Translation] = []
    dataflow = flow(TestingSource(given), made(kind), out)
    cluster_main(dataflow, [], 0, worker_count_per_proc=3)  # type: ignore[no-untyped-call]
    for stream in ("s0", "s1", "s2", "s3"):
        said = [(one.segment, one.revision) for one in out if one.stream == stream]
        assert said == [(segment, revision) for segment in range(20) for revision in (0, 1)]


@direct_or_thread
def test_a_segment_longer_than_the_context_is_told_once(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    long = " ".join(["a"] * 150)
    run([partial(long + more, revision=number) for number, more in enumerate(("", " b", " b c"))], made(kind))
    assert [record.message for record in caplog.records] == [
        "segment s/000000 is longer than the context and is translated in parts"
    ]


@direct_or_thread
def test_a_failed_update_names_its_stream_and_the_others_go_on(kind: str) -> None:
    store, noted = ToyStore(5), list[tuple[ErrorKind | None, str]]()
    # "e e e", which the toy never says.
    store.before = lambda sequence, tokens: "6, 6, 6" in str(tokens) and fail(sequence, tokens)
    given = [
        partial("a", stream="good"),
        partial("a", stream="bad"),
        partial("e e e", stream="bad", revision=1),
        partial("a b", stream="good", revision=1),
    ]
    out = run(given, made(kind, store), note=lambda trouble, why: noted.append((trouble, why)))
    assert {(one.stream, one.revision): one.trouble for one in out} == {
        ("good", 0): None,
        ("good", 1): None,
        ("bad", 0): None,
        ("bad", 1): ErrorKind.FAILED_PASS,
    }
    # The caption stays.
    assert len({one.text for one in out if one.stream == "bad"}) == 1
    assert (ErrorKind.FAILED_PASS, "segment bad/000000: llama_decode returned -3") in noted
    assert (None, "segment good/000000") in noted


@pytest.mark.parametrize("kind", KINDS)
def test_a_defect_ends_the_run_with_its_own_error(kind: str) -> None:
    def break_down(_sequence: int, _tokens: Sequence[int]) -> None:
        raise KeyError("a defect")

    store = ToyStore(5)
    service = made(kind, store)
    store.before = break_down
    with pytest.raises(Exception) as raised:  # noqa: PT011 - Bytewax wraps it
        run([partial("a b", is_final=True)], service)
    error: BaseException | None = raised.value
    while error is not None and not isinstance(error, KeyError):
        error = error.__cause__
    assert str(error) == "'a defect'"


# While the model computes


class Gate(ToyStore):
    """Computes nothing while it is closed."""

    def __init__(self, sequences: int = 4) -> None:
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
    """Takes a step in each turn: gives a partial, waits until something is so, or does something."""

    def __init__(self, *steps: Partial | Callable[[], bool | None]) -> None:
        self.steps = list(steps)

    @override
    def build(self, step_id: str, worker_index: int, worker_count: int) -> "_Steps":
        return _Steps(self.steps)


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


def test_a_worker_goes_on_while_a_thread_translates_and_shows_each_result_when_it_is_there() -> None:
    store, out = Gate(), list[Translation]()
    service = made("thread", store)
    store.is_open.clear()
    steps = Steps(
        partial("a b", stream="one"),
        store.waits.is_set,
        # The model computes, and yet more partials are taken.
        partial("a c", stream="two"),
        partial("b c", stream="three"),
        lambda: not out,
        store.is_open.set,
        # The input goes on, and the results are shown all the same.
        lambda: len(out) == 3,
        # At the end of the input all is translated that is pending.
        store.is_open.clear,
        store.waits.clear,
        *(partial("a b", stream=f"s{number}", is_final=number % 2 == 0) for number in range(6)),
        store.waits.is_set,
        store.is_open.set,
    )
    run_main(flow(steps, service, out))  # type: ignore[no-untyped-call]
    assert {one.stream for one in out[:3]} == {"one", "two", "three"}
    assert sorted(one.stream for one in out[3:]) == [f"s{number}" for number in range(6)]


def test_a_recording_is_not_read_far_ahead_of_its_captions() -> None:
    ahead: list[int] = []

    def given() -> Iterator[Partial]:
        for number in range(100):
            ahead.append(number - len(out))
            yield partial("a b", segment=number, is_final=True)

    out: list[Translation] = []
    run_main(flow(TestingSource(given()), made("thread"), out))  # type: ignore[no-untyped-call]
    assert len(out) == 100
    assert max(ahead) <= 20


# After an abort


def recovered(folder: Path) -> dict[str, Any]:
    """The options of a run that resumes the one before it, as surtitle's own do."""
    if not any(folder.iterdir()):
        init_db_dir(folder, 1)  # type: ignore[no-untyped-call]
    forget_unfinished(folder)
    recovery = RecoveryConfig(folder, backup_interval=timedelta(0))  # type: ignore[no-untyped-call]
    return {"epoch_interval": timedelta(0), "recovery_config": recovery}


GIVEN = [
    partial(
        text, stream=stream, segment=segment, revision=revision, is_final=text == "b b c a" and segment == 0
    )
    for revision, text in enumerate(("a b", "a b c", "b b c", "b b c a"))
    for segment in (0, 1)
    for stream in ("s", "t")
]


@direct_or_thread
def test_open_segments_come_back_with_their_drafts(kind: str, tmp_path: Path) -> None:
    want, got = run(GIVEN, made(kind)), dict[tuple[str, int], Translation]()
    for end in (5, 11, len(GIVEN)):
        out: list[Translation] = []
        broken = [*GIVEN[:end], TestingSource.ABORT(), *GIVEN[end:]] if end < len(GIVEN) else GIVEN
        run_main(flow(TestingSource(broken, batch_size=2), made(kind), out), **recovered(tmp_path))  # type: ignore[no-untyped-call]
        # What the snapshot does not hold is translated again, to the same.
        got |= {(one.key, one.revision): one for one in out}
    assert outputs(got[one.key, one.revision] for one in want) == outputs(want)


@pytest.mark.parametrize("keep_up", [True, False])
@pytest.mark.parametrize(
    ("first", "second"), [("thread", "thread"), ("thread", "direct"), ("direct", "thread")]
)
def test_what_was_pending_is_translated_by_the_next_run_whatever_its_service(
    first: str, second: str, keep_up: bool, tmp_path: Path
) -> None:
    store, out = Gate(), list[Translation]()
    broken = [*GIVEN, TestingSource.ABORT()]
    services = made(first, store), made(second)
    if first == "thread":
        # Everything is submitted and stored, and nothing is translated, when the run ends.
        store.is_open.clear()
    for service in services:
        source = TestingSource[Any](broken, batch_size=20)
        run_main(flow(source, service, out, keep_up=keep_up), **recovered(tmp_path))  # type: ignore[no-untyped-call]
        store.is_open.set()
    finals = [(one.stream, one.segment, one.revision) for one in out if one.is_final]
    assert sorted(finals) == [("s", 0, 3), ("t", 0, 3)]
    assert len(out) + sum(one.overtaken for one in out) == len(GIVEN)
    if not keep_up:
        assert outputs(out) == outputs(run(GIVEN, made(first)))


def test_sentences_that_waited_for_others_are_translated_by_the_next_run(tmp_path: Path) -> None:
    talk = [partial("a b", segment=number, is_final=True) for number in range(40)]
    broken, out = [*talk[:21], TestingSource.ABORT(), *talk[21:]], list[Translation]()
    for count in (16, 40):
        run_main(flow(TestingSource[Any](broken), made("batch"), out), **recovered(tmp_path))  # type: ignore[no-untyped-call]
        assert [one.segment for one in out] == list(range(count))
