"""The closing summary of a run, accumulated record by record."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from operators.events import Effort, ErasureRecord
from operators.metrics.quantiles import Quantiles
from operators.missing import Missing


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


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What a run amounts to. Absent figures had nothing to be computed from."""

    segments: int
    updates: int
    #: NE of the whole translations and of the shown text, pooled over the finals.
    ne_raw: float | None
    ne_shown: float | None
    #: The same as the mean over the segments, as the paper reports it.
    ne_raw_mean: float | None
    ne_shown_mean: float | None
    accepted_over_drafted: float | None
    accepted_over_output: float | None
    #: Milliseconds from a partial's arrival to its caption.
    latency_ms: Percentiles | None
    #: Milliseconds from the end of the speech that a partial covers to its caption.
    latency_from_speech_ms: Percentiles | None
    #: The parts of these.
    latency_parts_ms: LatencyParts
    #: Partials that newer ones overtook and that were never translated.
    overtaken: int
    #: Updates in which the model failed, by kind (`operators.trouble.Trouble`).
    troubles: dict[str, int]
    #: Seconds of sound that were lost, and seconds without a microphone.
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
        self._arrival = Quantiles()
        self._speech = Quantiles()
        self._parts = {f"{name}_s": Quantiles() for name in LatencyParts.__struct_fields__}
        self._overtaken = 0
        self._troubles: Counter[str] = Counter()
        self._effort = Effort()
        self._finals: list[_Finals] = [_Finals(), _Finals()]
        self._erased = [0, 0]
        self._signature = ""

    def add(self, record: ErasureRecord) -> None:
        """Count one update."""
        self._arrival.add(record.latency_from_arrival_s)
        self._speech.add(record.latency_from_speech_s)
        for name, seconds in self._parts.items():
            part_s = getattr(record.latency, name, None)
            if part_s is not None:
                seconds.add(part_s)
        self._overtaken += record.overtaken
        if record.trouble is not None:
            self._troubles[record.trouble.value] += 1
        self._effort = self._effort + record.effort
        self._signature = record.signature
        for which, text in enumerate((record.raw, record.shown)):
            self._erased[which] += text.erased
            if record.is_final:
                self._finals[which].add(text.length, text.ne_segment)

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
        raw, shown = self._finals
        effort = self._effort
        return Summary(
            segments=raw.count,
            updates=self._arrival.count,
            ne_raw=_ratio(self._erased[0], raw.length),
            ne_shown=_ratio(self._erased[1], shown.length),
            ne_raw_mean=_ratio(raw.ne, raw.count),
            ne_shown_mean=_ratio(shown.ne, shown.count),
            accepted_over_drafted=_ratio(effort.accepted, effort.drafted),
            accepted_over_output=_ratio(effort.accepted, effort.accepted + effort.decoded),
            latency_ms=_percentiles(self._arrival),
            latency_from_speech_ms=_percentiles(self._speech),
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
            signature=self._signature,
            settings=settings,
        )


class _Finals(msgspec.Struct):
    """Sums over the finals of one text."""

    count: int = 0
    length: int = 0
    ne: float = 0.0

    def add(self, length: int, ne: float) -> None:
        self.count += 1
        self.length += length
        self.ne += ne


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _percentiles(seconds: Quantiles) -> Percentiles | None:
    if not seconds.count:
        return None
    p50, p95 = seconds.at(0.5, 0.95)
    return Percentiles(1000 * p50, 1000 * p95)
