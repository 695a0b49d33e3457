"""The closing summary of a run, accumulated record by record."""

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from operators.events import Effort, Erasure, ErasureRecord
from operators.notifications import Missing

#: Minimum number of durations kept for percentiles: those of two days of speech.
MAX_KEPT = 2**18


class Percentiles(msgspec.Struct, frozen=True):
    p50: float
    p95: float


class LatencyParts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of the time from speech to caption, in milliseconds (`operators.events.Latency`)."""

    recogniser: Percentiles | None = None
    queue: Percentiles | None = None
    model: Percentiles | None = None
    display: Percentiles | None = None


class ErasureSum(msgspec.Struct, frozen=True, kw_only=True):
    #: NE of the whole translations and of the shown text, pooled over the finals.
    ne_raw: float | None = None
    ne_shown: float | None = None
    #: NE as the mean over the segments, as the paper reports it.
    ne_raw_mean: float | None = None
    ne_shown_mean: float | None = None


class Figures(ErasureSum, frozen=True, kw_only=True):
    """Totals over the updates of a run, or of one of its streams. Figures without data are absent."""

    segments: int
    updates: int
    #: Superseded partials, which were never translated.
    overtaken: int
    accepted_over_drafted: float | None
    accepted_over_output: float | None
    #: Milliseconds from a partial's arrival to its caption, for updates that change shown words.
    latency_ms: Percentiles | None
    #: Milliseconds from the end of the speech that a partial covers to its caption.
    latency_from_speech_ms: Percentiles | None
    #: The parts of these latencies.
    latency_parts_ms: LatencyParts


class Summary(Figures, frozen=True, kw_only=True):
    #: The erasure by signature, if it cannot be pooled because languages are counted in different tokens.
    erasures: dict[str, ErasureSum] = {}
    #: Updates that changed no shown word, such as finals that only add their full stop.
    unchanged: int = 0
    #: Milliseconds from speech to caption by the code of the language, if captions are in several languages.
    languages_from_speech_ms: dict[str, Percentiles] | msgspec.UnsetType = msgspec.UNSET
    #: Updates in which the model failed, by kind (`operators.model_errors.ErrorKind`).
    troubles: dict[str, int]
    #: Seconds of sound that were lost, and seconds without a microphone or a broadcast.
    lost_s: float
    absent_s: float
    #: Segments whose recognised text was cut, because the recogniser found no end.
    cut: int = 0
    #: Forward passes, and seconds spent in them.
    passes: int
    model_s: float
    #: Records missing from files that could not be written.
    missing: tuple[Missing, ...] = ()
    signature: str
    settings: dict[str, Any]


class Durations:
    """The latest of any number of durations, in seconds."""

    def __init__(self) -> None:
        #: The number of all durations, and their sum.
        self.count = 0
        self.total_s = 0.0
        self._values_s = array("d")

    def add(self, seconds: float) -> None:
        self.count += 1
        self.total_s += seconds
        self._values_s.append(seconds)
        if len(self._values_s) > 2 * MAX_KEPT:
            del self._values_s[:MAX_KEPT]

    def percentiles_ms(self) -> Percentiles | None:
        """Percentiles of the latest durations, in milliseconds; None without any."""
        if not self.count:
            return None
        p50, p95 = np.quantile(self._values_s, (0.5, 0.95))
        return Percentiles(1000 * float(p50), 1000 * float(p95))


class _TextSum:
    def __init__(self) -> None:
        self.erased = self.finals = self.length = 0
        self.ne = 0.0

    def add(self, text: Erasure, *, is_final: bool) -> None:
        self.erased += text.erased
        if is_final:
            self.finals += 1
            self.length += text.length
            self.ne += text.ne_segment


class SummaryMeter:
    """Adds up any number of erasure records in bounded memory."""

    def __init__(self) -> None:
        self._updates = self._segments = self._overtaken = 0
        self._arrival, self._speech = Durations(), Durations()
        self._languages: dict[str, Durations] = {}
        self._parts = {name: Durations() for name in LatencyParts.__struct_fields__}
        self._troubles: Counter[str] = Counter()
        self._effort = Effort()
        #: The last signature, and the sums of the whole translations and of the shown text. The key is the
        #: signature without versions, because these may change while a run is stopped.
        self._erasures: dict[str, tuple[str, _TextSum, _TextSum]] = {}

    def add(self, record: ErasureRecord) -> None:
        self._updates += 1
        self._segments += record.is_final
        self._overtaken += record.overtaken
        if record.changes_words:
            self._arrival.add(record.latency_from_arrival_s)
            self._speech.add(record.latency_from_speech_s)
            if record.language:
                by_language = self._languages.setdefault(record.language, Durations())
                by_language.add(record.latency_from_speech_s)
        for name, durations in self._parts.items():
            part_s = getattr(record.latency, f"{name}_s", None)
            if part_s is not None:
                durations.add(part_s)
        if record.trouble is not None:
            self._troubles[record.trouble.value] += 1
        self._effort = self._effort + record.effort
        counted, _, _ = record.signature.partition("|sacrebleu:")
        _, raw, shown = self._erasures.get(counted, ("", _TextSum(), _TextSum()))
        raw.add(record.raw, is_final=record.is_final)
        shown.add(record.shown, is_final=record.is_final)
        self._erasures[counted] = record.signature, raw, shown

    def figures(self) -> dict[str, Any]:
        effort, erasures = self._effort, self.erasures()
        pooled = next(iter(erasures.values())) if len(erasures) == 1 else ErasureSum()
        return {
            **msgspec.structs.asdict(pooled),
            "segments": self._segments,
            "updates": self._updates,
            "overtaken": self._overtaken,
            "accepted_over_drafted": _ratio(effort.accepted, effort.drafted),
            "accepted_over_output": _ratio(effort.accepted, effort.accepted + effort.decoded),
            "latency_ms": self._arrival.percentiles_ms(),
            "latency_from_speech_ms": self._speech.percentiles_ms(),
            "latency_parts_ms": LatencyParts(
                **{name: part.percentiles_ms() for name, part in self._parts.items()}
            ),
        }

    def erasures(self) -> dict[str, ErasureSum]:
        return {
            signature: ErasureSum(
                ne_raw=_ratio(raw.erased, raw.length),
                ne_shown=_ratio(shown.erased, shown.length),
                ne_raw_mean=_ratio(raw.ne, raw.finals),
                ne_shown_mean=_ratio(shown.ne, shown.finals),
            )
            for signature, raw, shown in self._erasures.values()
        }

    def summary(
        self,
        settings: dict[str, Any],
        *,
        lost_s: float = 0.0,
        absent_s: float = 0.0,
        cut: int = 0,
        missing: Sequence[Missing] = (),
    ) -> Summary:
        """The figures so far; ``settings`` produced them, ``missing`` are the records that files lack."""
        erasures = self.erasures()
        languages = {code: one.percentiles_ms() for code, one in self._languages.items()}
        return Summary(
            **self.figures(),
            erasures=erasures if len(erasures) > 1 else {},
            unchanged=self._updates - self._arrival.count,
            languages_from_speech_ms={code: one for code, one in languages.items() if one} or msgspec.UNSET,
            troubles=dict(self._troubles.most_common()),
            lost_s=lost_s,
            absent_s=absent_s,
            cut=cut,
            passes=self._effort.passes,
            model_s=self._effort.model_s,
            missing=tuple(missing),
            signature=" and ".join(erasures),
            settings=settings,
        )


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
