"""Streams that do not come back leave no state, however many there are."""

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from bytewax import operators as op
from bytewax.dataflow import Dataflow
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSink, TestingSource, run_main

from operators.clock import VirtualClock
from operators.events import Caption, ErasureRecord, Partial
from operators.metrics.erasure import ErasureMeter
from operators.metrics.summary import SummaryMeter
from operators.serving.service import DirectService, Service, ThreadService
from operators.stages import snapshots
from operators.stages.deduplicate import deduplicate
from operators.stages.display import display
from operators.stages.measure import measure
from operators.stages.snapshots import FORGOTTEN_AFTER_S, Silence
from operators.stages.translate import translate
from tests.operators.serving.toys import alone, model_of, scheduler

STREAMS = 30
#: Streams that may have been heard so late that nobody looked at them any more.
LATE = 8


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams are forgotten as soon as they are silent."""
    monkeypatch.setattr(snapshots, "_LOOK", timedelta(0))
    monkeypatch.setattr(snapshots, "FORGOTTEN_AFTER_S", 0.0)


def said(streams: Sequence[int]) -> Iterator[Partial]:
    """In each stream a segment, and the beginning of another one that never gets its final."""
    for number in streams:
        for segment, revision, text in ((0, 0, "a b"), (0, 1, "a b c"), (1, 0, "d e")):
            yield Partial(
                stream=f"talk{number}", segment=segment, revision=revision, is_final=revision == 1, text=text,
                start_s=0.0, end_s=revision + 0.5, arrival_s=revision + 1.0,
            )  # fmt: skip


def slowly(given: Iterator[Any], is_over: Callable[[], bool] = lambda: True) -> Iterator[Any]:
    for one in given:
        time.sleep(0.001)
        yield one
    pause = TestingSource.PAUSE(timedelta(milliseconds=10))
    while not is_over():
        yield pause
    # The last snapshot is written after what it is of.
    yield from [pause] * 5


def flow(given: Any, *, in_thread: bool) -> tuple[Dataflow, list[ErasureRecord]]:
    records: list[ErasureRecord] = []
    dataflow = Dataflow("test")
    once = deduplicate("deduplicate", op.input("in", dataflow, given))
    if in_thread:
        model = model_of(scheduler(3, 16), "ssbd")
        service: Service = ThreadService([model], lambda _update: model)
    else:
        own = alone("ssbd")
        service = DirectService(lambda _update: own)
    translated = translate("translate", once, lambda: service, VirtualClock())
    measured = measure(
        "measure", display("display", translated, 0), lambda _stream, state: ErasureMeter("13a", state)
    )
    op.output("out", measured, TestingSink(records))
    return dataflow, records


def run(dataflow: Dataflow, folder: Path) -> None:
    config = RecoveryConfig(folder)  # type: ignore[no-untyped-call]  # Bytewax leaves it unannotated
    run_main(dataflow, epoch_interval=timedelta(0), recovery_config=config)  # type: ignore[no-untyped-call]  # the same


def states(folder: Path) -> Counter[str]:
    """The number of states that each stage has in its newest snapshot."""
    store = sqlite3.connect(folder / "part-0.sqlite3")
    rows = store.execute("SELECT step_id, ser_change, MAX(snap_epoch) FROM snaps GROUP BY step_id, state_key")
    found = Counter(step.split(".")[1] for step, state, _ in rows if state is not None)
    store.close()
    return found


STAGES = {"deduplicate", "translate", "display", "measure"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    init_db_dir(tmp_path, 1)  # type: ignore[no-untyped-call]  # as above
    return tmp_path


@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize("in_thread", [False, True])
def test_streams_with_ever_new_names_leave_no_state_and_everything_was_measured(
    folder: Path, *, in_thread: bool
) -> None:
    source = TestingSource(slowly(said(range(STREAMS)), lambda: len(records) == 3 * STREAMS))
    dataflow, records = flow(source, in_thread=in_thread)
    run(dataflow, folder)
    assert all(states(folder)[stage] <= LATE for stage in STAGES), states(folder)
    assert len(records) == 3 * STREAMS
    meter = SummaryMeter()
    for record in records:
        meter.add(record)
    assert meter.summary({}).segments == STREAMS


def test_a_resumed_run_forgets_the_streams_of_the_run_before_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoken = list(said(range(STREAMS)))
    dataflow, _ = flow(TestingSource[Any]([*spoken, TestingSource.ABORT()]), in_thread=False)
    run(dataflow, folder)
    assert all(states(folder)[stage] >= STREAMS - 1 for stage in STAGES), "else nothing is tested"
    monkeypatch.setattr(snapshots, "_LOOK", timedelta(0))
    monkeypatch.setattr(snapshots, "FORGOTTEN_AFTER_S", 0.0)
    later = list(said(range(STREAMS, STREAMS + 5)))
    dataflow, records = flow(TestingSource([*spoken, *later]), in_thread=False)
    run(dataflow, folder)
    assert all(states(folder)[stage] <= LATE + 5 for stage in STAGES), states(folder)
    assert {one.stream for one in later} <= {one.stream for one in records}


def test_the_sums_of_a_room_end_when_it_is_over_and_those_of_others_stay(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "_LOOK", timedelta(0))

    def captions() -> Iterator[Caption]:
        for number in range(STREAMS):
            yield Caption(
                stream=f"room{number}", segment=0, revision=0, is_final=True, source="a", shown="b",
                withheld="", start_s=0.0, end_s=0.5, arrival_s=1.0, ready_s=1.0,
            )  # fmt: skip

    dataflow, records = Dataflow("test"), list[ErasureRecord]()
    measured = measure(
        "measure",
        op.input("in", dataflow, TestingSource(slowly(captions()))),
        lambda _stream, state: ErasureMeter("13a", state),
        lambda stream: not stream.endswith("7"),
    )
    op.output("out", measured, TestingSink(records))
    run(dataflow, folder)
    assert STREAMS // 10 <= states(folder)["measure"] <= STREAMS // 10 + LATE
    assert len(records) == STREAMS


def test_silence_counts_from_when_a_stream_was_last_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [5.0]
    monkeypatch.setattr(snapshots, "monotonic", lambda: now[0])
    one = Silence()
    for _ in range(2):
        now[0] += FORGOTTEN_AFTER_S - 1.0
        assert not one.is_long()
        one.broken()
    now[0] += FORGOTTEN_AFTER_S
    assert one.is_long()
