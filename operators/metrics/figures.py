"""The contents of a report: figures of segments, of streams, and in total."""

from collections.abc import Iterable

import msgspec

from operators.metrics.summary import LatencyParts, Percentiles


class Lagging(msgspec.Struct, frozen=True):
    """A figure in seconds by each of the `Clocks`; None if there was no data."""

    unaware_s: float | None = None
    aware_s: float | None = None


class Lag(msgspec.Struct, frozen=True):
    """The lag of tokens in seconds, computation-aware: mean, median and 95th percentile."""

    mean_s: float
    p50_s: float
    p95_s: float


class SegmentFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One finished segment."""

    stream: str
    segment: int
    updates: int
    #: Shown tokens that were erased.
    erased: int
    #: NE of the whole translations, and of the shown text.
    ne_raw: float
    ne_shown: float
    #: The longest time from speech to caption among its updates, in seconds.
    latency_s: float
    # From here on, only for captions.
    start_s: float | None = None
    al: Lagging = Lagging()
    laal: Lagging = Lagging()
    #: Mean lag of its tokens.
    lag_s: float | None = None
    text: str | None = None


class StreamFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One stream, or all of them together. Figures without data are absent."""

    #: None for all streams together.
    stream: str | None
    segments: int
    #: Segments without a final: their updates count only for erasure and the parts of the latency.
    unfinished: int
    updates: int
    overtaken: int
    ne_raw: float | None
    ne_shown: float | None
    accepted_over_drafted: float | None
    accepted_over_output: float | None
    #: Means over the segments.
    al: Lagging
    laal: Lagging
    #: Over all tokens: until they were final, and until something first stood in their place.
    lag: Lag | None
    lag_first: Lag | None
    latency_ms: Percentiles | None
    latency_from_speech_ms: Percentiles | None
    latency_parts_ms: LatencyParts


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The whole report."""

    source: str
    #: The events that the figures were computed from: ``caption`` or ``erasure``.
    kind: str
    signature: str
    total: StreamFigures
    streams: list[StreamFigures]
    segments: list[SegmentFigures]


def worst(segments: Iterable[SegmentFigures], count: int) -> list[SegmentFigures]:
    """The segments with the longest waits: by their tokens' lag, or by their longest latency."""
    return sorted(segments, key=lambda one: one.latency_s if one.lag_s is None else one.lag_s, reverse=True)[
        :count
    ]
