"""Events in JSON lines: what is read, what is refused, what survives a crash."""

import contextlib
import json
import os
import pickle
import resource
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import bytewax.operators as op
import msgspec
import pytest
from bytewax.dataflow import Dataflow
from bytewax.errors import BytewaxRuntimeError
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.testing import TestingSink, TestingSource, cluster_main
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from connectors.files import line_reader
from connectors.files.output import check_writable
from connectors.files.records import Held
from connectors.jsonl.reading import event_type_of, read_events, validate
from connectors.jsonl.sink import JsonlSink
from connectors.jsonl.source import JsonlPosition, JsonlSource
from operators.errors import InputError, OutputError
from operators.events import (
    AudioChunk,
    Caption,
    Effort,
    Erasure,
    ErasureRecord,
    Event,
    Partial,
    Translation,
)


def partial(segment: int = 0, revision: int = 0, **fields: Any) -> Partial:
    given = {"stream": "talk", "text": "It was", "is_final": False, "start_s": 0.0, "end_s": 1.0}
    return Partial(**{**given, "segment": segment, "revision": revision, "arrival_s": 1.0, **fields})


def line(**fields: Any) -> bytes:
    """A line as another program would write it: without the field ``event``; None leaves a field out."""
    spelled = {**msgspec.to_builtins(partial()), **fields}
    kept = {name: value for name, value in spelled.items() if value is not None and name != "event"}
    if "event" in fields:
        kept["event"] = fields["event"]
    return json.dumps(kept).encode() + b"\n"


def write(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"".join(lines))
    return path


def events(count: int, segments: int = 7) -> list[Partial]:
    return [partial(number % segments, number // segments, text=f"word {number}") for number in range(count)]


def write_events(path: Path, written: list[Partial]) -> Path:
    path.write_bytes(msgspec.json.Encoder().encode_lines(written))
    return path


def read(source: JsonlSource[Any], **run: Any) -> list[Any]:
    found: list[Any] = []
    flow = Dataflow("read")
    op.output("out", op.input("in", flow, source), TestingSink(found))
    _run(flow, **run)
    return found


def copy(source: Any, sink: JsonlSink, **run: Any) -> None:
    flow = Dataflow("copy")
    keyed = op.key_on("key", op.input("in", flow, source), lambda event: event.key)
    op.output("out", keyed, sink)
    _run(flow, **run)


def _run(flow: Dataflow, workers: int = 1, **run: Any) -> None:
    try:
        # Unlike run_main, this prints no panic of Rust when a connector raises.
        cluster_main(flow, [], 0, worker_count_per_proc=workers, **run)  # type: ignore[no-untyped-call]  # Bytewax leaves it untyped
    except BytewaxRuntimeError as error:
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        raise cause from None


# What a file holds


@pytest.fixture
def one_of_each() -> list[Event]:
    segment: dict[str, Any] = {"stream": "talk", "segment": 3, "revision": 1, "is_final": True}
    times: dict[str, Any] = {"start_s": 0.5, "end_s": 1.5, "arrival_s": 1.6}
    erasure = Erasure(length=3, erased=1, ne_segment=0.5, ne_stream=0.25)
    return [
        AudioChunk(stream="talk", start_s=0.5, pcm=b"\x00\x01" * 8),
        Partial(**segment, **times, text="It was"),
        Translation(
            **segment,
            **times,
            source="It was",
            text="Es",
            tokens=(7,),
            pieces=("Es",),
            ready_s=2,
            effort=Effort(),
        ),
        Caption(**segment, **times, source="It was", shown="Es", withheld=" war", ready_s=2),
        ErasureRecord(
            **segment,
            raw=erasure,
            shown=erasure,
            latency_from_speech_s=0.5,
            latency_from_arrival_s=0.4,
            signature="tok:13a",
        ),
    ]


def test_the_event_type_is_read_from_the_field_event(tmp_path: Path, one_of_each: list[Event]) -> None:
    for event in one_of_each:
        path = write(tmp_path / "events.jsonl", msgspec.json.encode(event))
        assert event_type_of(path) is type(event)


def test_the_event_type_is_known_by_the_fields_alone(tmp_path: Path, one_of_each: list[Event]) -> None:
    for event in one_of_each:
        fields = msgspec.to_builtins(event)
        del fields["event"]
        path = write(tmp_path / "events.jsonl", json.dumps(fields).encode())
        assert event_type_of(path) is type(event)


def test_the_event_type_may_be_spelled_with_escapes(tmp_path: Path) -> None:
    path = write(tmp_path / "events.jsonl", line(event="partial").replace(b"partial", b"\\u0070artial"))
    assert event_type_of(path) is Partial
    assert validate(path, Partial) == 1


def test_lines_that_are_no_events_do_not_hide_the_type(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", b"\n", b"# made by hand\n", b'{"note": 1}\n', line())
    assert event_type_of(path) is Partial


def test_a_file_without_events_names_its_first_line_and_what_is_missing(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", line(text=None, arrival_s=None))
    with pytest.raises(
        InputError, match=r'p\.jsonl, line 1: .* for "partial" it lacks the fields "arrival_s", "text"$'
    ):
        event_type_of(path)
    with pytest.raises(InputError, match=r'line 1: field "event": expected one of audio, partial,'):
        event_type_of(write(path, line(event="subtitle")))
    with pytest.raises(InputError, match="is empty"):
        event_type_of(write(path, b"\n\n"))


def test_gigabytes_of_something_else_are_not_looked_through(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", b"\n")
    os.truncate(path, 2**36)
    began = time.process_time()
    with pytest.raises(InputError, match="line 2: expected at most 8,388,608 bytes in a line, found more"):
        event_type_of(path)
    assert time.process_time() - began < 2


def test_what_is_not_a_readable_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        validate(tmp_path / "none.jsonl", Partial)
    with pytest.raises(InputError, match="not a regular file"):
        validate(tmp_path, Partial)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="not a regular file"):
        event_type_of(tmp_path / "pipe")
    with pytest.raises(InputError, match="No such file"):
        read(JsonlSource(tmp_path / "none.jsonl", Partial))


# Bad lines

BAD_LINES = {
    'field "revision": expected a whole number, found text': line(revision="1"),
    'field "revision": expected a whole number, found a number': line(revision=1.5),
    'field "revision": expected a whole number from 0 up': line(revision=-1),
    'field "arrival_s": expected a number from 0 up': line(arrival_s=-0.1),
    'field "arrival_s": number out of range': line().replace(b'"arrival_s": 1.0', b'"arrival_s": 1e999'),
    'field "arrival_s": expected a number of at most 10,000,000,000': line(arrival_s=1e300),
    'field "segment": expected a whole number of at most 9,007,199,254,740,991': line(segment=2**53),
    'field "stream": expected text of length <= 1000': line(stream="x" * 1001),
    'field "text" is missing': line(text=None),
    'field "text": expected text, found nothing': line().replace(b'"It was"', b"null"),
    'field "is_final": expected true or false, found a whole number': line(is_final=1),
    'field "event": expected "partial", found another event': line(event="caption"),
    "expected an object in braces, found a list": b"[1, 2]\n",
    "not valid JSON: invalid character": line(end_s=float("nan")),
    "not valid JSON: unexpected end of escaped utf-16 surrogate pair": line(text="\ud800 and more"),
    "not UTF-8": line().replace(b"It", b"\xff\xfe"),
    "not UTF-8 ": line(note="x").replace(b'"x"', b'"\xed\xa0\x80"'),
    "not valid JSON: it ends in the middle": line()[:-9],
    "brackets are nested too deeply": line()[:-2] + b', "x":' + b"[" * 10**5 + b"]" * 10**5 + b"}\n",
}


@pytest.mark.parametrize("expected", BAD_LINES)
def test_a_bad_line_is_named_with_file_line_and_field(tmp_path: Path, expected: str) -> None:
    path = write(tmp_path / "p.jsonl", line(), b"\n", BAD_LINES[expected])
    for attempt in (lambda: validate(path, Partial), lambda: read(JsonlSource(path, Partial))):
        with pytest.raises(InputError) as caught:
            attempt()
        assert str(caught.value).startswith(f"{path}, line 3: ")
        assert expected.strip() in str(caught.value)


def test_fields_inside_of_fields_are_named(tmp_path: Path, one_of_each: list[Event]) -> None:
    record = msgspec.to_builtins(one_of_each[-1])
    del record["raw"]["length"]
    path = write(tmp_path / "e.jsonl", json.dumps(record).encode())
    with pytest.raises(InputError, match=r'field "raw\.length" is missing'):
        validate(path, ErasureRecord)


def test_the_last_line_may_lack_its_newline_and_others_may_be_blank(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", b"\xef\xbb\xbf", line(), b"\r\n  \n", line(revision=1).rstrip())
    assert validate(path, Partial) == 2
    assert [event.revision for event in read(JsonlSource(path, Partial))] == [0, 1]


@pytest.mark.parametrize("half", [line()[:-9], line(text="Grün")[:30] + b"\xc3", b"\0\0\0"])
def test_a_last_line_that_was_cut_is_never_used_and_passed_over_where_that_is_told(
    tmp_path: Path, half: bytes
) -> None:
    path = write(tmp_path / "p.jsonl", line(), line(revision=1), half)
    told: list[str] = []
    assert len(list(read_events(path, Partial, told.append))) == 2
    assert told == [f"{path}, line 3: the file was cut there; all lines before it are used"]
    with pytest.raises(InputError, match=r"line 3: .*; the file was cut there: remove that line, or"):
        validate(path, Partial)


@pytest.mark.parametrize("bad", [line()[:-9] + b"\n", line(text=None).rstrip()])
def test_a_line_that_is_wrong_and_not_cut_is_no_remnant_of_a_crash(tmp_path: Path, bad: bytes) -> None:
    with pytest.raises(InputError, match="line 2: "):
        list(read_events(write(tmp_path / "p.jsonl", line(), bad), Partial, print))


def test_bad_lines_that_find_no_room_aside_are_counted_and_do_not_end_the_run(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", b"bad\n", line(), b"bad, and longer\n", line(revision=1))
    source = JsonlSource(path, Partial, skip_bad=True)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8, limits[1]))
    try:
        assert [event.revision for event in read(source)] == [0, 1]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (source.rejected, source.not_kept) == (2, 1)
    assert source.rejected_path.read_bytes() == b"bad\n"


def test_unknown_fields_are_ignored(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", line(confidence=0.9))
    assert read(JsonlSource(path, Partial)) == [partial()]


def test_bad_lines_are_put_aside_as_they_are(tmp_path: Path) -> None:
    bad = list(BAD_LINES.values())[:-2]
    path = write(tmp_path / "p.jsonl", line(), *bad, line(revision=1), line(revision=1), b'{"cut')
    source = JsonlSource(path, Partial, skip_bad=True)
    assert [event.revision for event in read(source)] == [0, 1]
    assert source.rejected == len(bad) + 2
    assert source.rejected_path.read_bytes() == b"".join([*bad, line(revision=1), b'{"cut'])
    assert source.rejected_path.name == "p.jsonl.rejected"


def test_a_run_that_rejects_nothing_leaves_no_rejected_lines_of_another_run(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", line())
    source = JsonlSource(path, Partial, skip_bad=True)
    source.rejected_path.write_text("old")
    read(source)
    assert not source.rejected_path.exists()
    assert source.rejected == 0


def test_a_line_that_is_too_long_is_never_held_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_reader, "MAX_LINE_BYTES", 1000)
    monkeypatch.setattr("connectors.jsonl.lines.MAX_LINE_BYTES", 1000)
    long = line(text="x" * 5000)
    path = write(tmp_path / "p.jsonl", line(), long, b" " * 5000 + b"\n", line(revision=1))
    with pytest.raises(InputError, match="line 2: expected at most 1,000 bytes in a line, found more"):
        validate(path, Partial)
    with line_reader.LineReader(path) as lines:
        assert max(map(len, lines)) == 1001
        assert lines.number == 4
    source = JsonlSource(path, Partial, skip_bad=True)
    assert [event.revision for event in read(source)] == [0, 1]
    assert source.rejected_path.read_bytes() == long + b" " * 5000 + b"\n"


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lines")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
almost_partials = st.builds(
    lambda changed: json.dumps({**msgspec.to_builtins(partial()), **changed}).encode(),
    st.dictionaries(st.sampled_from((*Partial.__struct_fields__, "event", "x")), json_values, max_size=3),
)


@given(st.lists(st.binary(max_size=80) | almost_partials, max_size=4))
@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_hostile_lines_give_a_valid_event_or_an_input_error(scratch: Path, hostile: list[bytes]) -> None:
    path = write(scratch / "hostile.jsonl", b"\n".join(hostile))
    with contextlib.suppress(InputError):
        validate(path, event_type_of(path))
    part = JsonlSource(path, Partial, skip_bad=True).build_part("in", "part", None)
    kept = list(_drained(part))
    part.close()
    for event in kept:
        again = msgspec.json.decode(msgspec.json.encode(event), type=Partial)
        assert again == event
        assert again.segment >= 0
        assert again.arrival_s >= 0


def _drained(part: Any) -> Iterator[Any]:
    while True:
        try:
            yield from part.next_batch()
        except StopIteration:
            return


# Order


@pytest.mark.parametrize(
    ("follower", "expected"),
    [
        (line(segment=3, revision=1), 'line 3: field "revision": expected more than 1, .* found 1'),
        (line(segment=3, revision=0), 'line 3: field "revision": expected more than 1, .* found 0'),
        (line(segment=2, revision=9), "line 3: .*segment 2 already ended at line 2"),
    ],
)
def test_revisions_only_grow_and_nothing_follows_a_final(
    tmp_path: Path, follower: bytes, expected: str
) -> None:
    before = [line(segment=3, revision=1), line(segment=2, revision=4, is_final=True)]
    path = write(tmp_path / "p.jsonl", *before, follower)
    with pytest.raises(InputError, match=expected):
        validate(path, Partial)


def test_streams_and_segments_may_interleave(tmp_path: Path) -> None:
    lines = [line(stream=name, segment=s, revision=r) for r in (0, 2) for s in (1, 0) for name in "ab"]
    assert validate(write(tmp_path / "p.jsonl", *lines), Partial) == 8


def test_memory_of_segments_is_bounded(tmp_path: Path) -> None:
    path = write_events(tmp_path / "p.jsonl", [partial(segment, is_final=True) for segment in range(5000)])
    part = JsonlSource(path, Partial).build_part("in", "part", None)
    assert len(list(_drained(part))) == 5000
    assert len(pickle.dumps(part.snapshot())) < 500
    part.close()


def test_what_a_resumed_run_knows_of_segments_is_what_the_run_before_it_knew(tmp_path: Path) -> None:
    begun = [partial(0, is_final=True), partial(1, is_final=True), partial(3, 2), partial(5, is_final=True)]
    path = write_events(tmp_path / "p.jsonl", begun)
    part = JsonlSource(path, Partial).build_part("in", "part", None)
    assert len(list(_drained(part))) == 4
    position = part.snapshot()
    part.close()
    for follower, complaint in [
        (partial(1, 7), "segment 1 already ended"),
        (partial(5, 7), "segment 5 already ended"),
        (partial(3, 2), "expected more than 2, the revision of segment 3"),
    ]:
        write_events(path, [*begun, follower])
        resumed = JsonlSource(path, Partial).build_part("in", "part", position)
        with pytest.raises(InputError, match=complaint):
            list(_drained(resumed))
        resumed.close()
    write_events(path, [*begun, partial(2), partial(3, 3), partial(4)])
    resumed = JsonlSource(path, Partial).build_part("in", "part", position)
    assert len(list(_drained(resumed))) == 3
    resumed.close()


# Reading in a flow


def test_a_source_that_is_to_wait_hands_nothing_over_and_looks_again_soon(tmp_path: Path) -> None:
    path, waits = write_events(tmp_path / "p.jsonl", events(4)), [True, False]
    source = JsonlSource(path, Partial, wait=lambda _handed: waits.pop(0))
    part = source.build_part("in", "part", None)
    assert part.next_batch() == []
    awake = part.next_awake()
    assert awake is not None
    assert awake < datetime.now(UTC) - timedelta(days=1), "a wall clock that is set back would hold it up"
    assert part.next_batch() == events(4)
    assert source.delivered == 4
    part.close()


def test_batches_are_bounded_and_come_in_order(tmp_path: Path) -> None:
    path = write_events(tmp_path / "p.jsonl", events(100))
    part = JsonlSource(path, Partial, batch_size=30).build_part("in", "part", None)
    sizes = [len(part.next_batch()) for _ in range(4)]
    part.close()
    assert sizes == [30, 30, 30, 10]
    assert read(JsonlSource(path, Partial)) == events(100)


def test_a_set_stop_ends_the_source_and_loses_nothing_that_was_read(tmp_path: Path) -> None:
    path = write_events(tmp_path / "p.jsonl", events(100))
    stop = threading.Event()
    source = JsonlSource(path, Partial, batch_size=10, stop=stop)
    found: list[Partial] = []
    flow = Dataflow("stopped")
    stream = op.input("in", flow, source)
    stream = op.inspect("stop", stream, lambda _step, event: stop.set() if event == events(100)[25] else None)
    op.output("out", stream, TestingSink(found))
    _run(flow)
    assert found[:26] == events(26)
    assert len(found) % 10 == 0
    assert len(found) < 100


def test_real_time_hands_over_events_when_they_arrived(tmp_path: Path) -> None:
    arrivals = [0.0, 0.15, 0.15, 0.3]
    written = [partial(0, revision, arrival_s=at) for revision, at in enumerate(arrivals)]
    path = write_events(tmp_path / "p.jsonl", written)
    source = JsonlSource(path, Partial, realtime=True)
    came: list[float] = []
    flow = Dataflow("realtime")
    stream = op.map("time", op.input("in", flow, source), lambda _event: source.now())
    op.output("out", stream, TestingSink(came))
    _run(flow)
    assert all(-0.001 <= at - due < 1 for at, due in zip(came, arrivals, strict=True))


def test_a_source_that_waits_neither_blocks_nor_outlives_a_stop(tmp_path: Path) -> None:
    path = write_events(tmp_path / "p.jsonl", [partial(arrival_s=1e9)])
    stop = threading.Event()
    part = JsonlSource(path, Partial, realtime=True, stop=stop).build_part("in", "part", None)
    began = time.monotonic()
    assert part.next_batch() == []
    assert time.monotonic() - began < 1
    awake = part.next_awake()
    assert awake is not None
    assert awake < datetime.now(UTC) - timedelta(days=1), "a wall clock that is set back would hold it up"
    stop.set()
    with pytest.raises(StopIteration):
        part.next_batch()
    part.close()


def test_a_resumed_clock_does_not_wait_for_what_has_passed(tmp_path: Path) -> None:
    path = write_events(tmp_path / "p.jsonl", [partial(arrival_s=100.0)])
    source = JsonlSource(path, Partial, realtime=True)
    part = source.build_part("in", "part", JsonlPosition(clock_s=100.0))
    assert part.next_batch() == [partial(arrival_s=100.0)]
    assert part.snapshot().clock_s >= 100.0
    part.close()


# Writing


class KilledError(Exception):
    """What kills a run in these tests."""


def recovery(folder: Path) -> dict[str, Any]:
    folder.mkdir()
    init_db_dir(folder, 1)  # type: ignore[no-untyped-call]  # Bytewax leaves it untyped
    config = RecoveryConfig(str(folder))  # type: ignore[no-untyped-call]  # Bytewax leaves it untyped
    return {"recovery_config": config, "epoch_interval": timedelta(0)}


def test_a_killed_run_goes_on_where_it_was_and_the_output_is_as_if_nothing_had_been(tmp_path: Path) -> None:
    lines = [msgspec.json.encode(event) + b"\n" for event in events(100)]
    for place in (10, 30, 60, 90):
        lines.insert(place, b"broken\n")
    path = write(tmp_path / "p.jsonl", *lines)
    state = recovery(tmp_path / "db")
    out = tmp_path / "out.jsonl"
    lives = iter([35, 50, 1000])

    def attempt() -> JsonlSource[Partial]:
        source, left = JsonlSource(path, Partial, skip_bad=True, batch_size=5), next(lives)

        def dies(event: Partial) -> Partial:
            nonlocal left
            left -= 1
            if left < 0:
                raise KilledError
            return event

        flow = Dataflow("killed")
        stream = op.map("dies", op.input("in", flow, source), dies)
        op.output("out", op.key_on("key", stream, lambda event: event.key), JsonlSink(out))
        _run(flow, **state)
        return source

    for _ in range(2):
        with pytest.raises(KilledError):
            attempt()
        # What a dying machine leaves behind the last snapshot.
        with out.open("ab") as file:
            file.write(b'{"half')
    source = attempt()
    assert [
        msgspec.json.decode(written, type=Partial) for written in out.read_bytes().splitlines()
    ] == events(100)
    assert source.rejected == 4
    assert source.rejected_path.read_bytes() == b"broken\n" * 4


def test_the_order_of_segments_is_remembered_over_a_resume(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", line(is_final=True), line(revision=1))
    source = JsonlSource(path, Partial, batch_size=1)
    part = source.build_part("in", "part", None)
    part.next_batch()
    resumed = source.build_part("in", "part", part.snapshot())
    with pytest.raises(InputError, match=r"line 2: .*already ended"):
        resumed.next_batch()
    part.close()
    resumed.close()


def test_a_resumed_run_refuses_files_that_became_shorter(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", line())
    with pytest.raises(InputError, match="has become shorter"):
        JsonlSource(path, Partial).build_part("in", "part", JsonlPosition(offset=10_000))
    with pytest.raises(OutputError, match="has become shorter"):
        JsonlSink(path).build_part("out", "part", Held(10_000))


def test_one_file_is_whole_however_many_workers_there_are(tmp_path: Path) -> None:
    path = write_events(tmp_path / "p.jsonl", events(200))
    out = tmp_path / "out.jsonl"
    copy(JsonlSource(path, Partial), JsonlSink(out), workers=3)
    assert validate(out, Partial) == 200


def test_a_new_run_replaces_a_file(tmp_path: Path) -> None:
    out = write(tmp_path / "out.jsonl", b"old\n")
    copy(TestingSource(events(1)), JsonlSink(out))
    assert validate(out, Partial) == 1


def test_a_batch_is_on_disk_as_soon_as_it_was_written(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    part = JsonlSink(out).build_part("out", "part", None)
    part.write_batch([partial(), partial(0, 1)])
    assert validate(out, Partial) == 2
    assert part.snapshot() == Held(out.stat().st_size)
    part.close()


def test_places_that_cannot_be_written_are_refused_before_the_run(tmp_path: Path) -> None:
    write(tmp_path / "file", b"")
    for path, reason in [
        (tmp_path / "none" / "out.jsonl", "there is no folder"),
        (tmp_path / "file" / "out.jsonl", "not a folder|Not a directory"),
        (tmp_path, "it is a folder"),
    ]:
        with pytest.raises(OutputError, match=reason):
            check_writable(path)
    check_writable(tmp_path / "new.jsonl")
    assert not (tmp_path / "new.jsonl").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_places_without_permission_are_refused(tmp_path: Path) -> None:
    locked = write(tmp_path / "locked.jsonl", b"")
    locked.chmod(0o400)
    with pytest.raises(OutputError, match="no permission"):
        check_writable(locked)
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="no permission to create files"):
        check_writable(tmp_path / "new.jsonl")
    tmp_path.chmod(0o700)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_an_output_error() -> None:
    with pytest.raises(OutputError, match="/dev/full cannot be written: No space left"):
        copy(TestingSource(events(1)), JsonlSink(Path("/dev/full")))


def test_half_a_line_is_taken_back_when_the_disk_fills_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.jsonl"
    part: Any = JsonlSink(out).build_part("out", "part", None)
    part.write_batch([partial()])
    file = part._target._file._file

    class Full:
        def __getattr__(self, name: str) -> Any:
            return getattr(file, name)

        def write(self, data: bytes) -> int:
            if len(data) < 50:
                raise OSError(28, "No space left on device")
            return int(file.write(data[:-40]))

    monkeypatch.setattr(part._target._file, "_file", Full())
    with pytest.raises(OutputError, match="No space left"):
        part.write_batch([partial(0, 1)])
    assert validate(out, Partial) == 1
    part.close()


# Round trip

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
finite = st.floats(min_value=0, max_value=1e10)
counts = st.integers(min_value=0, max_value=2**53 - 1)
lengths = st.integers(min_value=0, max_value=10**9)
segments_of = {"stream": texts, "segment": counts, "revision": counts, "is_final": st.booleans()}
times_of = {"start_s": finite, "end_s": finite, "arrival_s": finite}
efforts = st.builds(Effort, drafted=counts, accepted=counts, decoded=counts, model_s=finite)
erasures = st.builds(Erasure, length=lengths, erased=lengths, ne_segment=finite, ne_stream=finite)
any_events = st.one_of(
    st.builds(AudioChunk, stream=texts, start_s=finite, pcm=st.binary(max_size=40), is_last=st.booleans()),
    st.builds(Partial, **segments_of, **times_of, text=texts),
    st.builds(
        Translation,
        **segments_of,
        **times_of,
        source=texts,
        text=texts,
        tokens=st.lists(st.integers(0, 2**31 - 1)).map(tuple),
        pieces=st.lists(texts).map(tuple),
        ready_s=finite,
        effort=efforts,
    ),
    st.builds(
        Caption,
        **segments_of,
        **times_of,
        source=texts,
        shown=texts,
        withheld=texts,
        ready_s=finite,
        effort=efforts,
    ),
    st.builds(
        ErasureRecord,
        **segments_of,
        raw=erasures,
        shown=erasures,
        accepted_over_drafted=st.none() | finite,
        accepted_over_output=st.none() | finite,
        latency_from_speech_s=finite,
        latency_from_arrival_s=finite,
        effort=efforts,
        signature=texts,
    ),
)


@given(any_events)
@settings(deadline=None, max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read_back_the_same(scratch: Path, event: Event) -> None:
    path = scratch / "round.jsonl"
    sink = JsonlSink(path).build_part("out", "part", None)
    sink.write_batch([event])
    sink.close()
    assert event_type_of(path) is type(event)
    source = JsonlSource(path, type(event)).build_part("in", "part", None)
    assert list(_drained(source)) == [event]
    source.close()
