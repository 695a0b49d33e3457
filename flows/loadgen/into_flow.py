"""A load straight into the captions flow, in this process: recorded partials, no network."""

from collections.abc import Iterator
from datetime import datetime
from threading import Event as Flag
from time import monotonic
from typing import Any, cast

from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from msgspec.structs import replace
from typing_extensions import override

from connectors.machine.memory import resident_mb
from connectors.pacing import ALWAYS_DUE, nap
from flows.captions.graph import build
from flows.captions.inputs import Input
from flows.captions.pace import Pace
from flows.captions.parts import make_parts
from flows.captions.shared import Shared
from flows.loadgen.target import Load, Meter
from flows.running.dataflow import run
from flows.settings.schema import Settings
from operators.clock import WallClock
from operators.events import Partial
from operators.observed import Observed, UpdateMeasured
from operators.serving.recording import Recording
from operators.serving.rooms import Update


class FlowTarget:
    """The captions flow with the given settings; the model is loaded once for all loads."""

    name = "flow"

    def __init__(self, settings: Settings, recording: Recording, most_rooms: int, stop: Flag) -> None:
        """``stop``: when set, the rooms fall silent."""
        translate = replace(settings.translate, rooms=most_rooms)
        # Any input does here: it is replaced by the load.
        given = replace(settings.input, partials="load", realtime=True)
        output = replace(settings.output, terminal=False)
        self._settings = replace(settings, translate=translate, input=given, output=output)
        self._recording = recording
        self._stop = stop
        self._shared: Shared | None = None

    def run(self, load: Load, meter: Meter) -> None:
        """Replay the recording in each room at its pace, from a different position."""
        parts = make_parts(self._settings, observers=[_Lags(meter)])
        self._shared = shared = self._shared or parts.shared
        shared.load()
        source = _LoadSource(self._recording.arrivals(load.rooms, load.seconds), self._stop)
        given = Input(Partial, cast(Any, source), WallClock(source.now), Pace())
        run(build(parts._replace(shared=shared, given=given)), self._stop, workers=self._settings.run.workers)
        meter.add(lost=source.finals - meter.counts.finals)

    def memory_mb(self) -> float | None:
        """The memory of this process."""
        return resident_mb()


class _Lags:
    takes = frozenset({UpdateMeasured})

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def observe(self, event: Observed) -> None:
        assert isinstance(event, UpdateMeasured), "no other type is taken"
        record = event.record
        self._meter.caption(event.at_s, record.latency_from_arrival_s, is_final=record.is_final)
        self._meter.add(dropped=record.overtaken)


class _LoadSource(FixedPartitionedSource[Partial, None]):
    """Partials of all rooms, each at its time. Delivery: best effort; a load cannot be resumed."""

    def __init__(self, updates: Iterator[Update], stop: Flag) -> None:
        self.updates = updates
        self.stop = stop
        #: Number of finals that were delivered.
        self.finals = 0
        self.began_s: float | None = None

    def now(self) -> float:
        """Seconds since the load began."""
        return 0.0 if self.began_s is None else monotonic() - self.began_s

    @override
    def list_parts(self) -> list[str]:
        return ["load"]

    @override
    def build_part(self, step_id: str, for_part: str, resume_state: None) -> "_LoadPartition":
        self.began_s = monotonic()
        return _LoadPartition(self)


class _LoadPartition(StatefulSourcePartition[Partial, None]):
    def __init__(self, source: _LoadSource) -> None:
        self._source = source
        self._following = next(source.updates, None)
        self._revisions: dict[tuple[str, int], int] = {}

    @override
    def next_batch(self) -> list[Partial]:
        if self._following is None or self._source.stop.is_set():
            raise StopIteration
        due = []
        while self._following is not None and self._following.arrival_s <= self._source.now():
            due.append(self._partial(self._following))
            self._following = next(self._source.updates, None)
        if not due and self._following is not None:
            nap(self._following.arrival_s - self._source.now())
        return due

    @override
    def next_awake(self) -> datetime | None:
        return ALWAYS_DUE

    @override
    def snapshot(self) -> None:
        return None

    def _partial(self, update: Update) -> Partial:
        self._source.finals += update.is_final
        segment = (update.room, update.segment)
        revision = self._revisions.pop(segment, -1) + 1
        if not update.is_final:
            self._revisions[segment] = revision
        return Partial(
            stream=update.room,
            segment=update.segment,
            revision=revision,
            text=update.text,
            is_final=update.is_final,
            start_s=update.arrival_s,
            end_s=update.arrival_s,
            arrival_s=update.arrival_s,
        )
