"""A load straight into the captions flow, in this process: recorded partials or sound, no network."""

from collections.abc import Callable, Iterator
from threading import Event as Flag
from typing import Any, cast

from msgspec.structs import replace

from connectors.machine.resources import resident_mb
from flows.captions.graph import build
from flows.captions.inputs import Input
from flows.captions.parts import make_parts
from flows.captions.shared import Shared
from flows.measuring.load.playback import Due, Load, RoomsSource
from flows.measuring.load.rows import Meter, Target
from flows.running.dataflow import run
from flows.settings.schema import Settings
from operators.clock import WallClock
from operators.events import AudioChunk, Partial
from operators.notifications import Observed, PartialHeard, UpdateMeasured


def flow_target(
    settings: Settings,
    events: Callable[[Load], Iterator[Due]],
    event_type: type[Partial] | type[AudioChunk],
    most_rooms: int,
    stop: Flag,
) -> Target:
    """The captions flow with these settings; the model is loaded once for all loads.

    Args:
        events: What is said in the rooms.
        event_type: The type of these events. Delays count from partials, or else from the speech.
        most_rooms: The largest load.
        stop: When set, the rooms fall silent.
    """
    settings = replace(
        settings,
        translate=replace(settings.translate, rooms=most_rooms),
        # Any input does here: it is replaced by the load.
        input=replace(settings.input, partials="load", realtime=True),
        output=replace(settings.output, terminal=False),
    )
    shared: Shared | None = None

    def speak(load: Load, meter: Meter) -> None:
        nonlocal shared
        parts = make_parts(settings, observers=[_Observer(meter, from_speech=event_type is AudioChunk)])
        shared = shared or parts.shared
        shared.load()
        source = RoomsSource(events(load), stop)
        given = Input(event_type, cast("Any", source), WallClock(source.now))
        run(build(parts._replace(shared=shared, given=given)), stop, workers=settings.run.workers)

    return Target("flow", speak, resident_mb)


class _Observer:
    def __init__(self, meter: Meter, *, from_speech: bool) -> None:
        self._meter = meter
        self._from_speech = from_speech

    def observe(self, event: Observed) -> None:
        if isinstance(event, PartialHeard):
            # Until its caption is there.
            self._meter.add(lost=event.partial.is_final)
        elif isinstance(event, UpdateMeasured):
            record = event.record
            lag_s = record.latency_from_speech_s if self._from_speech else record.latency_from_arrival_s
            self._meter.caption(event.at_s, max(0.0, lag_s), is_final=record.is_final)
            self._meter.add(dropped=record.overtaken, lost=-record.is_final)
