"""A load straight into the captions flow, in this process: recorded partials or sound, no network."""

from collections.abc import Callable, Iterator
from threading import Event as Flag
from typing import Any, cast

from msgspec.structs import replace

from connectors.machine.resources import resident_mb
from flows.captions.graph import build
from flows.captions.inputs import Input, ReadAhead
from flows.captions.parts import make_parts
from flows.captions.shared import Shared
from flows.measuring.load.playback import Due, Load, RoomsSource
from flows.measuring.load.run import Meter
from flows.running.dataflow import run
from flows.settings.schema import Settings
from operators.clock import WallClock
from operators.events import AudioChunk, Partial
from operators.notifications import Observed, PartialHeard, UpdateMeasured

#: What is said in the rooms of a load.
Says = Callable[[Load], Iterator[Due]]


class FlowTarget:
    """The captions flow with the given settings; the model is loaded once for all loads."""

    name = "flow"

    def __init__(
        self,
        settings: Settings,
        says: Says,
        event_type: type[Partial] | type[AudioChunk],
        most_rooms: int,
        stop: Flag,
    ) -> None:
        """Prepare loads of at most ``most_rooms``.

        Args:
            says: What is said in the rooms.
            event_type: The type of these events. Delays count from partials, or else from the speech.
            stop: When set, the rooms fall silent.
        """
        translate = replace(settings.translate, rooms=most_rooms)
        # Any input does here: it is replaced by the load.
        given = replace(settings.input, partials="load", realtime=True)
        output = replace(settings.output, terminal=False)
        self._settings = replace(settings, translate=translate, input=given, output=output)
        self._says = says
        self._event_type = event_type
        self._stop = stop
        self._shared: Shared | None = None

    def run(self, load: Load, meter: Meter) -> None:
        """Let each room speak at the pace of the recording, from a different position."""
        watching = _Watching(meter, from_speech=self._event_type is AudioChunk)
        parts = make_parts(self._settings, observers=[watching])
        self._shared = shared = self._shared or parts.shared
        shared.load()
        source = RoomsSource(self._says(load), self._stop)
        given = Input(self._event_type, cast("Any", source), WallClock(source.now), ReadAhead())
        run(build(parts._replace(shared=shared, given=given)), self._stop, workers=self._settings.run.workers)

    def memory_mb(self) -> float | None:
        """The memory of this process."""
        return resident_mb()


class _Watching:
    takes = frozenset({PartialHeard, UpdateMeasured})

    def __init__(self, meter: Meter, *, from_speech: bool) -> None:
        self._meter = meter
        self._from_speech = from_speech

    def observe(self, event: Observed) -> None:
        if isinstance(event, PartialHeard):
            # Until its caption is there.
            self._meter.add(lost=event.partial.is_final)
            return
        assert isinstance(event, UpdateMeasured), "no other type is taken"
        record = event.record
        lag_s = record.latency_from_speech_s if self._from_speech else record.latency_from_arrival_s
        self._meter.caption(event.at_s, max(0.0, lag_s), is_final=record.is_final)
        self._meter.add(dropped=record.overtaken, lost=-record.is_final)
