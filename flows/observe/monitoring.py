"""Metrics and health of a run, served to other programs."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Lock, Thread
from time import monotonic

from connectors.messages import log_event
from connectors.metrics.counters import RunMetrics
from flows.settings.schema import Settings
from operators.metrics.health import Health, Rule, Verdict
from operators.models.pool import Usage
from operators.notifications import (
    LoadingBegan,
    LoadingEnded,
    MessageSkipped,
    ModelLoaded,
    Observed,
    PartialHeard,
    RecognizerChanged,
    RunBegan,
    RunEnded,
    SoundHeard,
    SoundLost,
    SourceChanged,
    SpeechCut,
    UpdateMeasured,
)
from operators.sound import peak_dbfs


class Monitoring:
    """Counts the events of a run, and decides whether it is healthy; no port is opened before `served`.

    Args:
        viewers: Returns the number of viewers in browsers, on any thread.

    Raises:
        UsageError: for an invalid address.
    """

    def __init__(self, settings: Settings, viewers: Callable[[], int]) -> None:
        # Imported here: few runs need them.
        from connectors.metrics.server import parse_address, served_metrics

        # Speakers of rooms may fall silent or leave, and captions of other rooms mask a room without any.
        self._has_one_source = not settings.input.rooms
        self._is_live = settings.is_live and self._has_one_source
        self._lost = SoundLost()
        self._usage: Callable[[], Usage] = Usage
        self._reported: Verdict | None = None
        self._lock = Lock()
        self.health = Health(Rule(), monotonic)
        self.metrics = metrics = RunMetrics()
        self._serve = partial(
            served_metrics, parse_address(str(settings.metrics.listen)), metrics.registry, self.verdict
        )
        metrics.gauge("healthy", "1 while /healthz is green.", lambda: self.verdict().is_well)
        waiting = "Segments that wait for a caption."
        metrics.gauge("waiting_segments", waiting, lambda: len(self.health.waiting))
        metrics.gauge("viewers", "Viewers in browsers.", viewers)
        metrics.gauge("open_sessions", "Segments in the model's KV cache.", lambda: self._usage().sessions)
        metrics.gauge(
            "most_sessions", "Maximum of surtitle_open_sessions.", lambda: self._usage().most_sessions
        )
        metrics.gauge("kv_tokens", "Tokens in the model's KV cache.", lambda: self._usage().tokens)

    @contextmanager
    def served(self) -> Iterator[str]:
        """Serve metrics and health inside the block, and report the address; returns that of the metrics.

        Raises:
            OutputError: when the address cannot be listened on.
        """
        logging.getLogger().addHandler(self.metrics)
        try:
            with self._serve() as (address, is_open_to_others):
                others = " for every machine that can reach this one" if is_open_to_others else ""
                log_event("metrics_opened", f"metrics at {address}{others}", address=address)
                yield address
        finally:
            logging.getLogger().removeHandler(self.metrics)

    def verdict(self) -> Verdict:
        """The health of the run. A change is reported on another thread: the caller must not block."""
        with self._lock:
            verdict = self.health.verdict()
            before, self._reported = self._reported, verdict
        if before is None or before.cause == verdict.cause:
            return verdict
        # The problem may be, for instance, a terminal that blocks.
        Thread(target=_report, args=(verdict,), name="health", daemon=True).start()
        return verdict

    def observe(self, event: Observed) -> None:
        with self._lock:
            self._update_health(event)

    def _update_health(self, event: Observed) -> None:
        match event:
            case RunBegan():
                self.health.ready()
            case RunEnded():
                self.health.is_over = True
            case LoadingBegan():
                self.health.loads(1)
            case LoadingEnded():
                self.health.loads(-1)
            case ModelLoaded(usage):
                self._usage = usage
            case SourceChanged(sentence):
                self.health.lost = sentence
            case RecognizerChanged(sentence):
                self.health.trouble = sentence
            case _:
                self._count(event)

    def _count(self, event: Observed) -> None:
        match event:
            case SoundHeard(chunk):
                self.metrics.heard_s.inc(chunk.duration_s)
                peak = peak_dbfs(chunk.pcm)
                is_last = chunk.is_last or not self._has_one_source
                self.health.audio(chunk.duration_s, peak, is_live=self._is_live, is_last=is_last)
            case SoundLost(lost_s, absent_s):
                self.metrics.lost_s.inc(max(0.0, lost_s - self._lost.lost_s))
                self.metrics.absent_s.inc(max(0.0, absent_s - self._lost.absent_s))
                self._lost = event
            case SpeechCut():
                self.metrics.cut.inc()
            case MessageSkipped(kind):
                self.metrics.skipped.labels(kind).inc()
            case PartialHeard(partial):
                self.metrics.partials.inc()
                self.health.partial(partial.key, partial.revision)
            case UpdateMeasured(record):
                self.metrics.record(record)
                is_lost = record.trouble is not None and record.trouble.is_loss
                self.health.caption(record.key, record.revision, is_answer=not is_lost)


def _report(verdict: Verdict) -> None:
    if verdict.cause is not None:
        log_event("health_failing", str(verdict.reason), level=logging.WARNING, cause=verdict.cause)
    else:
        log_event("health_recovered", "all is well again", level=logging.INFO)
