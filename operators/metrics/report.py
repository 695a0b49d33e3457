"""The figures of a run, for each stream and in total, from the files that the run wrote.

Erasure and the parts of the latency come from erasure records. AL, LAAL and the lag of re-translation need
the text of each update, which only captions have.
"""

from collections.abc import Iterable, Sequence
from statistics import fmean

import msgspec
import numpy as np

from operators.events import Caption, ErasureRecord
from operators.metrics.latency import (
    Clocks,
    SegmentTimes,
    TokenTimes,
    average_lagging,
    length_adaptive_average_lagging,
    token_lags,
)
from operators.metrics.summary import LatencyParts, Percentiles, SummaryMeter
from operators.metrics.tokenizers import Tokenizer


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


class _Open(msgspec.Struct):
    """A segment in progress."""

    updates: int = 0
    erased: int = 0
    latency_s: float = 0.0
    tokens: TokenTimes = msgspec.field(default_factory=TokenTimes)


class _Closed(msgspec.Struct):
    """A finished segment; its place among the references is known only at the end."""

    figures: SegmentFigures
    times: SegmentTimes | None


class StreamMeter:
    """Adds up one stream."""

    def __init__(self, stream: str, tokenize: Tokenizer) -> None:
        self.stream = stream
        self.closed: dict[int, _Closed] = {}
        self.summary = SummaryMeter()
        self._tokenize = tokenize
        self._open: dict[int, _Open] = {}

    @property
    def numbers(self) -> list[int]:
        """The numbers of all segments, finished or not, in the order of speech."""
        return sorted({*self._open, *self.closed})

    @property
    def unfinished(self) -> int:
        """How many segments have no final."""
        return len(self._open)

    def add(self, record: ErasureRecord, caption: Caption | None) -> None:
        """Add one update; ``caption`` is the one that the record measures, if known."""
        self.summary.add(record)
        segment = self._open.setdefault(record.segment, _Open())
        segment.updates += 1
        segment.erased += record.shown.erased
        segment.latency_s = max(segment.latency_s, record.latency_from_speech_s)
        if caption is not None:
            seen_s = caption.ready_s if caption.shown_s is None else caption.shown_s
            segment.tokens.update(self._tokenize(caption.shown), Clocks(caption.end_s, seen_s))
        if record.is_final:
            self._close(self._open.pop(record.segment), record, caption)

    def _close(self, segment: _Open, record: ErasureRecord, caption: Caption | None) -> None:
        figures = SegmentFigures(
            stream=self.stream,
            segment=record.segment,
            updates=segment.updates,
            erased=segment.erased,
            ne_raw=record.raw.ne_segment,
            ne_shown=record.shown.ne_segment,
            latency_s=segment.latency_s,
            start_s=None if caption is None else caption.start_s,
            text=None if caption is None else caption.shown,
        )
        times = None if caption is None else segment.tokens.times(caption.start_s, caption.end_s)
        self.closed[record.segment] = _Closed(figures, times)


class ReportMeter:
    """Adds up a file of captions, or of erasure records.

    Args:
        tokenize: What splits captions into the tokens that latency is counted in.
    """

    def __init__(self, tokenize: Tokenizer) -> None:
        self._tokenize = tokenize
        self._streams: dict[str, StreamMeter] = {}
        self._all = SummaryMeter()

    def add(self, record: ErasureRecord, caption: Caption | None = None) -> None:
        """Add one update; ``caption`` is the one that the record measures, if known."""
        if record.stream not in self._streams:
            self._streams[record.stream] = StreamMeter(record.stream, self._tokenize)
        self._streams[record.stream].add(record, caption)
        self._all.add(record)

    @property
    def segments(self) -> list[tuple[str, int]]:
        """All segments, finished or not: streams as they began, each in the order of speech."""
        return [(name, number) for name, meter in self._streams.items() for number in meter.numbers]

    def report(
        self, source: str, kind: str, signature: str, references: Sequence[str] | None = None
    ) -> Report:
        """The report; ``references`` hold one text for each of `segments`, in that order."""
        lengths: dict[tuple[str, int], int] = {}
        if references is not None:
            counts = [len(self._tokenize(text)) for text in references]
            lengths = dict(zip(self.segments, counts, strict=True))
        by_stream = {
            name: [
                _figures(closed, lengths.get((name, number)))
                for number, closed in sorted(meter.closed.items())
            ]
            for name, meter in self._streams.items()
        }
        unfinished = sum(meter.unfinished for meter in self._streams.values())
        everything = [segment for segments in by_stream.values() for segment in segments]
        times = [one.times for meter in self._streams.values() for one in meter.closed.values()]
        return Report(
            source=source,
            kind=kind,
            signature=signature,
            total=_stream(None, self._all, unfinished, everything, times),
            streams=[
                _stream(
                    name,
                    meter.summary,
                    meter.unfinished,
                    by_stream[name],
                    [one.times for one in meter.closed.values()],
                )
                for name, meter in self._streams.items()
            ],
            segments=everything,
        )


def _figures(closed: _Closed, reference_length: int | None) -> SegmentFigures:
    times = closed.times
    if times is None or not times.final:
        return closed.figures
    length = len(times.final) if reference_length is None else reference_length
    unaware_s, aware_s = times.delays_s(0), times.delays_s(1)
    return msgspec.structs.replace(
        closed.figures,
        al=Lagging(*(average_lagging(delays, times.source_s, length) for delays in (unaware_s, aware_s))),
        laal=Lagging(
            *(length_adaptive_average_lagging(one, times.source_s, length) for one in (unaware_s, aware_s))
        ),
        lag_s=fmean(token_lags(aware_s, times.source_s)),
    )


def _stream(
    name: str | None,
    meter: SummaryMeter,
    unfinished: int,
    segments: Sequence[SegmentFigures],
    times: Sequence[SegmentTimes | None],
) -> StreamFigures:
    summary = meter.summary({})
    known = [one for one in times if one is not None]
    return StreamFigures(
        stream=name,
        segments=summary.segments,
        unfinished=unfinished,
        updates=summary.updates,
        overtaken=summary.overtaken,
        ne_raw=summary.ne_raw,
        ne_shown=summary.ne_shown,
        accepted_over_drafted=summary.accepted_over_drafted,
        accepted_over_output=summary.accepted_over_output,
        al=_mean([one.al for one in segments]),
        laal=_mean([one.laal for one in segments]),
        lag=_lag([lag for one in known for lag in token_lags(one.delays_s(1), one.source_s)]),
        lag_first=_lag(
            [
                lag
                for one in known
                for lag in token_lags([at.seen_s - one.start_s for at in one.first], one.source_s)
            ]
        ),
        latency_ms=summary.latency_ms,
        latency_from_speech_ms=summary.latency_from_speech_ms,
        latency_parts_ms=summary.latency_parts_ms,
    )


def _mean(figures: Sequence[Lagging]) -> Lagging:
    def mean(values: list[float]) -> float | None:
        return fmean(values) if values else None

    return Lagging(
        mean([one.unaware_s for one in figures if one.unaware_s is not None]),
        mean([one.aware_s for one in figures if one.aware_s is not None]),
    )


def _lag(lags: Sequence[float]) -> Lag | None:
    if not lags:
        return None
    p50, p95 = np.percentile(lags, [50, 95])
    return Lag(fmean(lags), float(p50), float(p95))
