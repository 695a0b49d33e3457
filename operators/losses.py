"""What was lost: audio on its way to the flow, and records that a file lacks."""

from typing import Self

import msgspec

from operators.events import AudioChunk, Event, SegmentEvent
from operators.subtitles.timing import Cue


class Losses(msgspec.Struct, frozen=True, kw_only=True):
    """Sound that was lost since the run began, by cause."""

    #: How often the device reported lost samples, and how many seconds were lost.
    overflows: int = 0
    overflow_s: float = 0.0
    #: Seconds that were dropped, oldest first, because the flow did not fetch them in time.
    dropped_s: float = 0.0
    #: Missing seconds that the device did not report.
    unreported_s: float = 0.0
    #: Seconds during which there was no device.
    absent_s: float = 0.0

    @property
    def total_s(self) -> float:
        """All missing seconds."""
        return self.lost_s + self.absent_s

    @property
    def lost_s(self) -> float:
        """The seconds that were lost while there was a device."""
        return self.overflow_s + self.dropped_s + self.unreported_s


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """Some records: how many, and their first and last segment and time."""

    records: int = 0
    #: First and last segment, each as stream and number; absent if the records have no segments.
    first: tuple[str, int] | None = None
    last: tuple[str, int] | None = None
    #: Seconds of the stream, from the first speech to the last; absent if the records have no times.
    start_s: float | None = None
    end_s: float | None = None

    @classmethod
    def of(cls, record: Event | Cue) -> Self:
        """One record."""
        if isinstance(record, Cue):
            return cls(records=1, start_s=record.start_ms / 1000, end_s=record.end_ms / 1000)
        segment = (record.stream, record.segment) if isinstance(record, SegmentEvent) else None
        start_s: float | None = getattr(record, "start_s", None)
        end_s: float | None = getattr(record, "end_s", None)
        if isinstance(record, AudioChunk):
            end_s = record.start_s + record.duration_s
        return cls(records=1, first=segment, last=segment, start_s=start_s, end_s=end_s)

    def __add__(self, later: "Span") -> "Span":
        """These records and later ones."""
        starts = [at for at in (self.start_s, later.start_s) if at is not None]
        ends = [at for at in (self.end_s, later.end_s) if at is not None]
        return Span(
            records=self.records + later.records,
            first=self.first or later.first,
            last=later.last or self.last,
            start_s=min(starts, default=None),
            end_s=max(ends, default=None),
        )

    def __str__(self) -> str:
        """The number of records, their segments and their times."""
        where = []
        if self.first is not None and self.last is not None:
            (stream, number), (other, last) = self.first, self.last
            many = f"segment {number}" if self.first == self.last else f"segments {number} to {last}"
            # A name comes from outside; the code that prints it removes control sequences.
            where.append(f"{many} of {stream}" if stream == other else f"{stream}/{number} to {other}/{last}")
        if self.start_s is not None and self.end_s is not None:
            where.append(f"{self.start_s:.1f} s to {self.end_s:.1f} s")
        records = "1 record" if self.records == 1 else f"{self.records} records"
        return f"{records} ({', '.join(where)})" if where else records


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """What one file lacks at the end of a run, and why."""

    path: str
    span: Span
    reason: str

    def __str__(self) -> str:
        """As part of a sentence."""
        return f"{self.path} lacks {self.span}: {self.reason}"
