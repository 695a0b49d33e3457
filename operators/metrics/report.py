"""The figures of a run, for each stream and in total, from the files that the run wrote.

Erasure and the parts of the latency come from erasure records. AL, LAAL and the lag of re-translation need
the text of each update, which only captions have.
"""

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import NamedTuple

import msgspec
import numpy as np

from operators.events import Caption, ErasureRecord
from operators.metrics.latency import (
    Clocks,
    TokenTimes,
    average_lagging,
    length_adaptive_average_lagging,
    token_lags,
)
from operators.metrics.summary import Figures, SummaryMeter
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


class StreamFigures(Figures, frozen=True, kw_only=True):
    #: None for all streams together.
    stream: str | None
    #: Segments without a final: their updates count only for erasure and the parts of the latency.
    unfinished: int
    #: Means over the segments.
    al: Lagging
    laal: Lagging
    #: Over all tokens: until they were final, and until their places first had a token.
    lag: Lag | None
    lag_first: Lag | None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    source: str
    #: The events that the figures were computed from: ``caption`` or ``erasure``.
    kind: str
    signature: str
    total: StreamFigures
    streams: list[StreamFigures]
    segments: list[SegmentFigures]


class _Segment(msgspec.Struct):
    updates: int = 0
    erased: int = 0
    latency_s: float = 0.0
    tokens: TokenTimes = msgspec.field(default_factory=TokenTimes)
    final: ErasureRecord | None = None
    caption: Caption | None = None


class _Stream(msgspec.Struct):
    summary: SummaryMeter = msgspec.field(default_factory=SummaryMeter)
    segments: dict[int, _Segment] = msgspec.field(default_factory=dict)


class _SegmentResult(NamedTuple):
    """The figures of a segment, and the lags of its tokens until they were final and first shown."""

    figures: SegmentFigures
    lags_s: Sequence[float] = ()
    first_lags_s: Sequence[float] = ()


class ReportMeter:
    """Adds up a file of captions or of erasure records; latency counts the tokens of ``tokenize``."""

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
        if segment is None or segment.final is not None:
            segment = stream.segments[record.segment] = _Segment()
        segment.updates += 1
        segment.erased += record.shown.erased
        segment.latency_s = max(segment.latency_s, record.latency_from_speech_s)
        if caption is not None:
            seen_s = caption.ready_s if caption.shown_s is None else caption.shown_s
            segment.tokens.update(self._tokenize(caption.shown), Clocks(caption.end_s, seen_s))
        if record.is_final:
            segment.final, segment.caption = record, caption

    @property
    def segments(self) -> list[tuple[str, int]]:
        """All segments, finished or not: streams in order of their start, each in the order of speech."""
        return [
            (name, number) for name, stream in self._streams.items() for number in sorted(stream.segments)
        ]

    def report(
        self, source: str, kind: str, signature: str, references: Sequence[str] | None = None
    ) -> Report:
        """The report; ``references`` hold one text for each of `segments`, in that order."""
        counts = [len(self._tokenize(text)) for text in references or ()]
        lengths = dict(zip(self.segments, counts, strict=references is not None))
        streams, everything = list[StreamFigures](), list[_SegmentResult]()
        for name, stream in self._streams.items():
            finished = [
                _result(one, one.final, one.caption, lengths.get((name, number)))
                for number, one in sorted(stream.segments.items())
                if one.final is not None
            ]
            unfinished = len(stream.segments) - len(finished)
            streams.append(_stream(name, stream.summary, unfinished, finished))
            everything += finished
        total = _stream(None, self._all, sum(one.unfinished for one in streams), everything)
        segments = [one.figures for one in everything]
        return Report(
            source=source, kind=kind, signature=signature, total=total, streams=streams, segments=segments
        )


def _result(
    segment: _Segment, final: ErasureRecord, caption: Caption | None, reference_length: int | None
) -> _SegmentResult:
    figures = SegmentFigures(
        stream=final.stream,
        segment=final.segment,
        updates=segment.updates,
        erased=segment.erased,
        ne_raw=final.raw.ne_segment,
        ne_shown=final.shown.ne_segment,
        latency_s=segment.latency_s,
    )
    if caption is None:
        return _SegmentResult(figures)
    figures = msgspec.structs.replace(figures, start_s=caption.start_s, text=caption.shown)
    times, source_s = segment.tokens, caption.end_s - caption.start_s
    if not times.final:
        return _SegmentResult(figures)
    length = len(times.final) if reference_length is None else reference_length
    unaware, aware = ([at[clock] - caption.start_s for at in times.final] for clock in (0, 1))
    lags_s = token_lags(aware, source_s)
    figures = msgspec.structs.replace(
        figures,
        al=Lagging(*(average_lagging(one, source_s, length) for one in (unaware, aware))),
        laal=Lagging(*(length_adaptive_average_lagging(one, source_s, length) for one in (unaware, aware))),
        lag_s=fmean(lags_s),
    )
    return _SegmentResult(
        figures, lags_s, token_lags([at.seen_s - caption.start_s for at in times.first], source_s)
    )


def _stream(
    name: str | None, meter: SummaryMeter, unfinished: int, finished: Sequence[_SegmentResult]
) -> StreamFigures:
    return StreamFigures(
        **meter.figures(),
        stream=name,
        unfinished=unfinished,
        al=_mean(one.figures.al for one in finished),
        laal=_mean(one.figures.laal for one in finished),
        lag=_lag([lag for one in finished for lag in one.lags_s]),
        lag_first=_lag([lag for one in finished for lag in one.first_lags_s]),
    )


def _mean(figures: Iterable[Lagging]) -> Lagging:
    known = [one for one in figures if one.unaware_s is not None and one.aware_s is not None]
    if not known:
        return Lagging()
    return Lagging(fmean(one.unaware_s or 0.0 for one in known), fmean(one.aware_s or 0.0 for one in known))


def _lag(lags: Sequence[float]) -> Lag | None:
    if not lags:
        return None
    p50, p95 = np.percentile(lags, [50, 95])
    return Lag(fmean(lags), float(p50), float(p95))
