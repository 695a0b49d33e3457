"""Prometheus metrics of a run, in a registry of its own.

Labels reveal nothing about captions or streams, and each label has a bounded number of values.
"""

import logging
import platform
from collections.abc import Callable
from importlib.metadata import version

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    disable_created_metrics,
)
from typing_extensions import override

from operators.events import ErasureRecord

#: Upper bounds in seconds: from an instant caption to one that comes too late for anybody.
LATENCY_BUCKETS_S = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0)
# Maximum number of distinct outputs; further ones are counted as "other".
_MAX_OUTPUTS = 50
# The fields of an effort that are counted, with the metric's name and help.
_EFFORT = {
    "passes": ("forward_passes", "Forward passes through the model."),
    "drafted": ("drafted_tokens", "Draft tokens that were verified."),
    "accepted": ("accepted_tokens", "Draft tokens that were accepted."),
    "decoded": ("decoded_tokens", "Tokens that were decoded after the draft."),
    "prompt_tokens": ("prompt_tokens", "Prompt tokens."),
    "prompt_reused": ("reused_prompt_tokens", "Prompt tokens that were in the KV cache."),
    "model_s": ("model_seconds", "Seconds in forward passes."),
}


class RunMetrics(logging.Handler):
    """The metrics of one run. Any thread may call any method; none blocks.

    As a logging handler, it counts messages and failed writes. A failed write is a message with
    ``extra={"event": "write_failed", "output": "captions"}``.
    """

    def __init__(self) -> None:
        super().__init__()
        # Creation times would be half of all series, and Prometheus has another way to get them.
        disable_created_metrics()  # type: ignore[no-untyped-call]  # it has no annotations
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        build = Info("surtitle_build", "Versions.", registry=self.registry)
        build.info({"version": version("surtitle"), "python": platform.python_version()})
        self.partials = self._counter("partials", "Updates of sentences that arrived for translation.")
        self.skipped = self._counter(
            "skipped_messages", "Messages of the input's topic that were not used.", "kind"
        )
        self.cut = self._counter("cut_speech", "Segments whose recognised text was cut.")
        self.heard_s = self._counter("audio_seconds", "Seconds of sound received.")
        self.lost_s = self._counter("lost_audio_seconds", "Seconds of sound that were lost.")
        self.absent_s = self._counter("absent_audio_seconds", "Seconds without a microphone or a broadcast.")
        self._captions = self._counter("captions", "Captions that were shown.", "kind")
        self._segments = self._counter("segments", "Segments that had their first caption.")
        self._overtaken = self._counter("overtaken_partials", "Partials superseded by newer ones.")
        self._erased = self._counter("erased_tokens", "Tokens that updates erased.", "text")
        self._final = self._counter("final_tokens", "Tokens of finals: the denominator of NE.", "text")
        self._effort = {field: self._counter(*named) for field, named in _EFFORT.items()}
        self._from_partial = self._histogram("partial_to_caption", "From a partial's arrival to its caption.")
        self._from_speech = self._histogram("speech_to_caption", "From the end of speech to its caption.")
        self._troubles = self._counter("model_troubles", "Updates in which the model failed.", "kind")
        self._failures = self._counter("write_failures", "Writes that failed.", "output")
        self._messages = self._counter("messages", "Messages of level notice and above.", "level")
        for kind in ("partial", "final"):
            self._captions.labels(kind)
        self._open: set[tuple[str, int]] = set()
        self._outputs: set[str] = set()

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"surtitle_{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str) -> Histogram:
        name = f"surtitle_{name}_seconds"
        return Histogram(name, text, buckets=LATENCY_BUCKETS_S, registry=self.registry)

    def gauge(self, name: str, text: str, value: Callable[[], float]) -> None:
        """Add ``surtitle_<name>``, whose value is read at each scrape, on the server's thread."""
        Gauge(f"surtitle_{name}", text, registry=self.registry).set_function(value)

    def record(self, record: ErasureRecord) -> None:
        self._captions.labels("final" if record.is_final else "partial").inc()
        segment = record.channel, record.segment
        if segment not in self._open:
            self._segments.inc()
            self._open.add(segment)
        if record.is_final:
            self._open.discard(segment)
        self._overtaken.inc(record.overtaken)
        for text, erasure in (("raw", record.raw), ("shown", record.shown)):
            self._erased.labels(text).inc(erasure.erased)
            if record.is_final:
                self._final.labels(text).inc(erasure.length)
        for field, counter in self._effort.items():
            counter.inc(getattr(record.effort, field))
        if record.trouble is not None:
            self._troubles.labels(record.trouble.value).inc()
        self._from_partial.observe(record.latency_from_arrival_s)
        # Negative if a hypothesis claims to cover more than was spoken, because some recognisers round.
        self._from_speech.observe(max(0.0, record.latency_from_speech_s))

    @override
    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno > logging.INFO:
            self._messages.labels(record.levelname.lower()).inc()
        if getattr(record, "event", None) == "write_failed":
            output = str(getattr(record, "output", "unknown"))
            if len(self._outputs | {output}) > _MAX_OUTPUTS:
                output = "other"
            self._outputs.add(output)
            self._failures.labels(output).inc()
