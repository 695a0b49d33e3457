"""The closing summary of a run, accumulated record by record."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from operators.events import Effort, Erasure, ErasureRecord
from operators.metrics.quantiles import Quantiles
from operators.notifications import Missing


class Percentiles(msgspec.Struct, frozen=True):
    """Median and 95th percentile."""

    p50: float
    p95: float


class LatencyParts(msgspec.Struct, frozen=True, kw_only=True):
    """Where the time from speech to caption went, in milliseconds (`operators.events.Latency`)."""

    recogniser: Percentiles | None = None
    queue: Percentiles | None = None
    model: Percentiles | None = None
    display: Percentiles | None = None


class ErasureSum(msgspec.Struct, frozen=True, kw_only=True):
    """The erasure of segments that are counted in the same way."""

    #: NE of the whole translations and of the shown text, pooled over the finals.
    ne_raw: float | None = None
    ne_shown: float | None = None
    #: The same as the mean over the segments, as the paper reports it.
    ne_raw_mean: float | None = None
    ne_shown_mean: float | None = None


class Summary(ErasureSum, frozen=True, kw_only=True):
    """What a run amounts to. Absent figures had nothing to be computed from."""

    segments: int
    updates: int
    #: The erasure by signature, where it cannot be pooled: languages are counted in different tokens.
    erasures: dict[str, ErasureSum] = {}
    accepted_over_drafted: float | None
    accepted_over_output: float | None
    #: Updates that changed no word of what is shown: finals, for instance, that only bring their full stop.
    unchanged: int = 0
    #: Milliseconds from a partial's arrival to its caption, of updates that change words of what is shown.
    latency_ms: Percentiles | None
    #: Milliseconds from the end of the speech that a partial covers to its caption.
    latency_from_speech_ms: Percentiles | None
    #: The same for each of several languages of captions, by its code.
    languages_from_speech_ms: dict[str, Percentiles] | msgspec.UnsetType = msgspec.UNSET
    #: The parts of these.
    latency_parts_ms: LatencyParts
    #: Partials that newer ones overtook and that were never translated.
    overtaken: int
    #: Updates in which the model failed, by kind (`operators.trouble.Trouble`).
    troubles: dict[str, int]
    #: Seconds of sound that were lost, and seconds without a microphone or a broadcast.
    lost_s: float
    absent_s: float
    #: Segments whose recognised text was cut, because the recogniser found no end.
    cut: int = 0
    #: Forward passes, and seconds spent in them.
    passes: int
    model_s: float
    #: What files lack because they could not be written.
    missing: tuple[Missing, ...] = ()
    signature: str
    settings: dict[str, Any]


class SummaryMeter:
    """Adds up any number of erasure records in bounded memory."""

    def __init__(self) -> None:
        self._updates = 0
        self._arrival = Quantiles()
        self._speech = Quantiles()
        self._languages: dict[str, Quantiles] = {}
        self._parts = {f"{name}_s": Quantiles() for name in LatencyParts.__struct_fields__}
        self._overtaken = 0
        self._troubles: Counter[str] = Counter()
        self._effort = Effort()
        self._segments = 0
        #: By the part of the signature that says what is counted; versions may change while a run is stopped.
        self._erasures: dict[str, _Erasures] = {}

    def add(self, record: ErasureRecord) -> None:
        """Count one update."""
        self._updates += 1
        if record.changes_words:
            self._add_latency(record)
        for name, seconds in self._parts.items():
            part_s = getattr(record.latency, name, None)
            if part_s is not None:
                seconds.add(part_s)
        self._overtaken += record.overtaken
        if record.trouble is not None:
            self._troubles[record.trouble.value] += 1
        self._effort = self._effort + record.effort
        self._segments += record.is_final
        counted, _, _ = record.signature.partition("|sacrebleu:")
        self._erasures.setdefault(counted, _Erasures()).add(record)

    def _add_latency(self, record: ErasureRecord) -> None:
        self._arrival.add(record.latency_from_arrival_s)
        self._speech.add(record.latency_from_speech_s)
        if record.language:
            self._languages.setdefault(record.language, Quantiles()).add(record.latency_from_speech_s)

    def summary(
        self,
        settings: dict[str, Any],
        *,
        lost_s: float = 0.0,
        absent_s: float = 0.0,
        cut: int = 0,
        missing: Sequence[Missing] = (),
    ) -> Summary:
        """The figures so far; ``settings`` produced them, ``missing`` is what files lack."""
        effort = self._effort
        erasures = {one.signature: one.sum() for one in self._erasures.values()}
        pooled = next(iter(erasures.values())) if len(erasures) == 1 else ErasureSum()
        return Summary(
            **msgspec.structs.asdict(pooled),
            segments=self._segments,
            updates=self._updates,
            unchanged=self._updates - self._arrival.count,
            erasures=erasures if len(erasures) > 1 else {},
            accepted_over_drafted=_ratio(effort.accepted, effort.drafted),
            accepted_over_output=_ratio(effort.accepted, effort.accepted + effort.decoded),
            latency_ms=_percentiles(self._arrival),
            latency_from_speech_ms=_percentiles(self._speech),
            languages_from_speech_ms={code: _some(one) for code, one in self._languages.items()}
            or msgspec.UNSET,
            latency_parts_ms=LatencyParts(
                **{name.removesuffix("_s"): _percentiles(part) for name, part in self._parts.items()}
            ),
            overtaken=self._overtaken,
            troubles=dict(self._troubles.most_common()),
            lost_s=lost_s,
            absent_s=absent_s,
            cut=cut,
            passes=effort.passes,
            model_s=effort.model_s,
            missing=tuple(missing),
            signature=" and ".join(erasures),
            settings=settings,
        )


class _Text(msgspec.Struct):
    """Sums over the updates of one text."""

    erased: int = 0
    finals: int = 0
    length: int = 0
    ne: float = 0.0

    def add(self, text: Erasure, *, is_final: bool) -> None:
        self.erased += text.erased
        if is_final:
            self.finals += 1
            self.length += text.length
            self.ne += text.ne_segment


class _Erasures(msgspec.Struct):
    """Sums over the updates that are counted in the same way."""

    signature: str = ""
    raw: _Text = msgspec.field(default_factory=_Text)
    shown: _Text = msgspec.field(default_factory=_Text)

    def add(self, record: ErasureRecord) -> None:
        self.signature = record.signature
        self.raw.add(record.raw, is_final=record.is_final)
        self.shown.add(record.shown, is_final=record.is_final)

    def sum(self) -> ErasureSum:
        return ErasureSum(
            ne_raw=_ratio(self.raw.erased, self.raw.length),
            ne_shown=_ratio(self.shown.erased, self.shown.length),
            ne_raw_mean=_ratio(self.raw.ne, self.raw.finals),
            ne_shown_mean=_ratio(self.shown.ne, self.shown.finals),
        )


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _percentiles(seconds: Quantiles) -> Percentiles | None:
    return _some(seconds) if seconds.count else None


def _some(seconds: Quantiles) -> Percentiles:
    p50, p95 = seconds.at(0.5, 0.95)
    return Percentiles(1000 * p50, 1000 * p95)
