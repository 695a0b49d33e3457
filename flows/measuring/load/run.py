"""Runs ``surtitle loadgen``: one load after the other, on the flow here or a server; a row for each."""

import os
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from threading import Event as Flag
from time import monotonic
from typing import Any, cast

from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from msgspec.structs import replace
from typing_extensions import override

from connectors.files.distinct import check_distinct
from connectors.machine.resources import resident_mb
from connectors.pacing import ALWAYS_DUE, nap
from flows.captions.graph import build
from flows.captions.inputs import Input
from flows.captions.parts import make_parts
from flows.captions.resources import RunResources
from flows.engine.recognition import check_recognizer
from flows.measuring.load.rooms import (
    Due,
    Load,
    Meter,
    Row,
    chunks,
    partials,
    read_partials,
    read_sound,
    row_of,
    table,
)
from flows.measuring.load.server import speak_to_server
from flows.measuring.results import Results, files_of, publish, running, sign
from flows.observe.audience import TOKEN_VARIABLE
from flows.running.dataflow import run
from flows.settings.loading import load_settings
from flows.settings.options import words
from flows.settings.overrides import Overrides
from flows.settings.schema import Settings
from operators.clock import WallClock
from operators.errors import InputError, SurtitleError, UsageError
from operators.events import AudioChunk, Partial
from operators.notifications import Observed, PartialHeard, UpdateMeasured

_MAX_ROOMS = 1000

#: Lets all rooms speak, and waits a bounded time for the last captions.
Speak = Callable[[Load, Meter], None]


def generate_load(
    overrides: Overrides, recording: Path, server: str | None, rooms: str, seconds: float, json: Path | None
) -> None:
    """Measure loads, and publish the rows.

    Args:
        rooms: Numbers of rooms with commas between them.
        server: Its address; None for the flow of this process, which the settings in ``overrides`` describe.

    Raises:
        SurtitleError: when the load cannot run, or rooms were cut off.
    """
    numbers = [int(word) if word.isdecimal() else 0 for word in words("--rooms", rooms)]
    if any(not 1 <= number <= _MAX_ROOMS for number in numbers):
        raise UsageError(f"--rooms: give numbers from 1 to {_MAX_ROOMS}")
    settings = load_settings(None, overrides if server is None else {})
    speech_model = Path(settings.recognize.model) if settings.recognize.model else None
    check_distinct([("--json", json)], [recording, speech_model, *files_of(settings.translate)])
    rows, failure = list[Row](), None
    with running() as runner:
        if server is None:
            speak = _into_flow(settings, recording, max(numbers), runner.stop)
        else:
            speak = _to_server(overrides, recording, server, runner.stop)
        for number in numbers:
            runner.doing(f"{number} rooms speak for {seconds:g} seconds", None)
            meter = Meter()
            try:
                speak(Load(number, seconds), meter)
            except SurtitleError as error:
                # The earlier rows are still printed.
                failure = error
                break
            target, memory_mb = ("flow", resident_mb()) if server is None else ("server", None)
            rows.append(row_of(Load(number, seconds), meter, target, memory_mb))
            runner.go_on()
    if rows:
        publish(Results(sign(recording=recording.name), rows, [table(rows)]), json=json)
    if failure is not None:
        raise failure
    if cut := sum(row["cut"] for row in rows):
        rooms_were = "1 room was" if cut == 1 else f"{cut} rooms were"
        raise InputError(f"{rooms_were} cut off before the last caption; see what the server reports")


def _to_server(overrides: Overrides, recording: Path, server: str, stop: Flag) -> Speak:
    to = overrides.get("translate", {}).get("to")
    languages = tuple(words("--to", to)) if to else ()
    token = os.environ.get(TOKEN_VARIABLE)
    return speak_to_server(server, read_sound(recording), languages, token, stop)


def _into_flow(settings: Settings, recording: Path, most_rooms: int, stop: Flag) -> Speak:
    """The captions flow with these settings; the model is loaded once for all loads."""
    event_type: type[AudioChunk] | type[Partial]
    events: Callable[[Load], Iterator[Due]]
    if recording.suffix.lower() in (".wav", ".flac"):
        check_recognizer(settings.recognize, spoken=settings.translate.spoken, is_live=True)
        event_type, events = AudioChunk, partial(chunks, read_sound(recording))
    else:
        event_type, events = Partial, partial(partials, read_partials(recording))
    settings = replace(
        settings,
        translate=replace(settings.translate, rooms=most_rooms),
        # A placeholder: the load replaces the input.
        input=replace(settings.input, partials="load", realtime=True),
        output=replace(settings.output, terminal=False),
    )
    resources: RunResources | None = None

    def speak(load: Load, meter: Meter) -> None:
        nonlocal resources
        parts = make_parts(settings, observers=[_Observer(meter, from_speech=event_type is AudioChunk)])
        resources = resources or parts.resources
        resources.load()
        source = RoomsSource(events(load), stop)
        given = Input(event_type, cast("Any", source), WallClock(source.now))
        run(build(parts._replace(resources=resources, given=given)), stop, workers=settings.run.workers)

    return speak


class _Observer:
    takes = frozenset({PartialHeard, UpdateMeasured})

    def __init__(self, meter: Meter, *, from_speech: bool) -> None:
        self._meter = meter
        self._from_speech = from_speech

    def observe(self, event: Observed) -> None:
        if isinstance(event, PartialHeard):
            # It counts as lost until its caption is shown.
            self._meter.add(lost=event.partial.is_final)
        elif isinstance(event, UpdateMeasured):
            record = event.record
            lag_s = record.latency_from_speech_s if self._from_speech else record.latency_from_arrival_s
            self._meter.caption(max(0.0, lag_s), is_final=record.is_final)
            self._meter.add(dropped=record.overtaken, lost=-record.is_final)


class RoomsSource(FixedPartitionedSource[Any, None]):
    """The events of all rooms. Delivery: best effort; rooms cannot be resumed."""

    def __init__(self, events: Iterator[Due], stop: Flag) -> None:
        """``events`` come in the order of their times; ``stop`` ends them."""
        self.events = events
        self.stop = stop
        self.began_s: float | None = None

    def now(self) -> float:
        """Seconds since the rooms began."""
        return 0.0 if self.began_s is None else monotonic() - self.began_s

    @override
    def list_parts(self) -> list[str]:
        return ["rooms"]

    @override
    def build_part(self, step_id: str, for_part: str, resume_state: None) -> "_Partition":
        self.began_s = monotonic()
        return _Partition(self)


class _Partition(StatefulSourcePartition[Any, None]):
    def __init__(self, source: RoomsSource) -> None:
        self._source = source
        self._following = next(source.events, None)

    @override
    def next_batch(self) -> list[Any]:
        if self._following is None or self._source.stop.is_set():
            raise StopIteration
        due = []
        while self._following is not None and self._following[0] <= self._source.now():
            due.append(self._following[1])
            self._following = next(self._source.events, None)
        if not due and self._following is not None:
            nap(self._following[0] - self._source.now())
        return due

    @override
    def next_awake(self) -> datetime | None:
        return ALWAYS_DUE

    @override
    def snapshot(self) -> None:
        return None
