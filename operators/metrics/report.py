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
from operators.metrics.summary import LatencyParts, Percentiles, Summary, SummaryMeter
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


class _Segment(msgspec.Struct):
    """A segment in progress, and after its final what is known of it."""

    updates: int = 0
    erased: int = 0
    latency_s: float = 0.0
    tokens: TokenTimes = msgspec.field(default_factory=TokenTimes)
    figures: SegmentFigures | None = None
    times: SegmentTimes | None = None


class _Stream(msgspec.Struct):
    """The sums of one stream."""

    summary: SummaryMeter = msgspec.field(default_factory=SummaryMeter)
    segments: dict[int, _Segment] = msgspec.field(default_factory=dict)

    @property
    def finished(self) -> list[tuple[int, SegmentFigures, SegmentTimes | None]]:
        """The finished segments in the order of speech."""
        ordered = sorted(self.segments.items())
        return [(number, one.figures, one.times) for number, one in ordered if one.figures is not None]


class ReportMeter:
    """Adds up a file of captions, or of erasure records.

    Args:
        tokenize: What splits captions into the tokens that latency is counted in.
    """

    def __init__(self, tokenize: Tokenizer) -> None:
        self._tokenize = tokenize
        self._streams: dict[str, _Stream] = {}
        self._all = SummaryMeter()

    def add(self, record: ErasureRecord, caption: Caption | None = None) -> None:
        """Add one update; ``caption`` is the one that the record measures, if known."""
        stream = self._streams.setdefault(record.stream, _Stream())
        stream.summary.add(record)
        self._all.add(record)
        segment = stream.segments.get(record.segment)
        if segment is None or segment.figures is not None:
            segment = stream.segments[record.segment] = _Segment()
        segment.updates += 1
        segment.erased += record.shown.erased
        segment.latency_s = max(segment.latency_s, record.latency_from_speech_s)
        if caption is not None:
            seen_s = caption.ready_s if caption.shown_s is None else caption.shown_s
            segment.tokens.update(self._tokenize(caption.shown), Clocks(caption.end_s, seen_s))
        if record.is_final:
            segment.figures = SegmentFigures(
                stream=record.stream,
                segment=record.segment,
                updates=segment.updates,
                erased=segment.erased,
                ne_raw=record.raw.ne_segment,
                ne_shown=record.shown.ne_segment,
                latency_s=segment.latency_s,
                start_s=None if caption is None else caption.start_s,
                text=None if caption is None else caption.shown,
            )
            if caption is not None:
                segment.times = segment.tokens.times(caption.start_s, caption.end_s)

    @property
    def segments(self) -> list[tuple[str, int]]:
        """All segments, finished or not: streams as they began, each in the order of speech."""
        return [
            (name, number) for name, stream in self._streams.items() for number in sorted(stream.segments)
        ]

    def report(
        self, source: str, kind: str, signature: str, references: Sequence[str] | None = None
    ) -> Report:
        """The report; ``references`` hold one text for each of `segments`, in that order."""
        counts = [len(self._tokenize(text)) for text in references or ()]
        lengths = dict(zip(self.segments, counts, strict=references is not None))
        streams, everything, times = list[StreamFigures](), list[SegmentFigures](), list[SegmentTimes]()
        for name, stream in self._streams.items():
            finished = stream.finished
            own = [_figures(one, at, lengths.get((name, number))) for number, one, at in finished]
            its = [at for _, _, at in finished if at is not None]
            unfinished = len(stream.segments) - len(finished)
            streams.append(_stream(name, stream.summary, unfinished, own, its))
            everything += own
            times += its
        unfinished = sum(one.unfinished for one in streams)
        total = _stream(None, self._all, unfinished, everything, times)
        return Report(
            source=source, kind=kind, signature=signature, total=total, streams=streams, segments=everything
        )


def _figures(
    figures: SegmentFigures, times: SegmentTimes | None, reference_length: int | None
) -> SegmentFigures:
    if times is None or not times.final:
        return figures
    length = len(times.final) if reference_length is None else reference_length
    delays, source_s = (times.delays_s(0), times.delays_s(1)), times.source_s
    return msgspec.structs.replace(
        figures,
        al=Lagging(*(average_lagging(one, source_s, length) for one in delays)),
        laal=Lagging(*(length_adaptive_average_lagging(one, source_s, length) for one in delays)),
        lag_s=fmean(token_lags(delays[1], source_s)),
    )


def _stream(
    name: str | None,
    meter: SummaryMeter,
    unfinished: int,
    segments: Sequence[SegmentFigures],
    times: Sequence[SegmentTimes],
) -> StreamFigures:
    summary = meter.summary({})
    firsts = [([at.seen_s - one.start_s for at in one.first], one.source_s) for one in times]
    return StreamFigures(
        stream=name,
        unfinished=unfinished,
        al=_mean([one.al for one in segments]),
        laal=_mean([one.laal for one in segments]),
        lag=_lag([lag for one in times for lag in token_lags(one.delays_s(1), one.source_s)]),
        lag_first=_lag([lag for delays, source_s in firsts for lag in token_lags(delays, source_s)]),
        **{field: getattr(summary, field) for field in _OF_SUMMARY},
    )


#: Figures that the summary of a run has, too.
_OF_SUMMARY = tuple(one for one in StreamFigures.__struct_fields__ if one in Summary.__struct_fields__)


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
