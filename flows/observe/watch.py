"""Metrics and health as a part of a run: what its stages see, counted and judged, and served where asked."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, Thread
from time import monotonic

from connectors.messages.log import tell
from connectors.metrics.counters import CountMessages, RunMetrics
from connectors.metrics.server import MetricsServer, parse_address
from connectors.microphone.buffer import Losses
from flows.settings.schema import Settings
from operators.events import AudioChunk, ErasureRecord, Partial
from operators.health import Health, Rule, Verdict
from operators.level import level
from operators.models.open_sessions import Usage


class Watch:
    """Counts and judges a run. Nothing of it runs, and it costs nothing, unless the settings ask for it."""

    def __init__(self, settings: Settings, viewers: Callable[[], int], usage: Callable[[], Usage]) -> None:
        """Prepare it; nothing listens before `open`.

        Args:
            viewers: Gives the number of viewers in browsers, on any thread.
            usage: Gives what the model's cache holds, on any thread and without waiting.

        Raises:
            UsageError: for an address that is none.
        """
        asked = settings.metrics
        self._is_live = settings.is_live
        self._server: MetricsServer | None = None
        self._losses = Losses()
        self._told: Verdict | None = None
        self._lock = Lock()
        if asked.listen is None:
            return
        address = parse_address(str(asked.listen))
        self.health = Health(Rule(asked.stall_s, asked.unheard_s, asked.silence_dbfs), monotonic)
        self.metrics = metrics = RunMetrics()
        self._counting = CountMessages(metrics)
        self._server = MetricsServer(address, metrics.registry, self.verdict)
        metrics.gauge("healthy", "1 while /healthz is green.", lambda: self.verdict().is_well)
        metrics.gauge("waiting_segments", "Segments that wait for a caption.", lambda: self.health.waiting)
        metrics.gauge("viewers", "Viewers in browsers.", viewers)
        metrics.gauge("open_sessions", "Segments in the model's KV cache.", lambda: usage().sessions)
        metrics.gauge("most_sessions", "Segments that there is room for.", lambda: usage().most_sessions)
        metrics.gauge("kv_tokens", "Tokens in the model's KV cache.", lambda: usage().tokens)

    @property
    def is_on(self) -> bool:
        """Whether anybody wants to know."""
        return self._server is not None

    def open(self) -> str | None:
        """Listen, and say where; None where that was not asked for.

        Raises:
            OutputError: when the address cannot be listened on.
        """
        if self._server is None:
            return None
        logging.getLogger().addHandler(self._counting)
        address = self._server.start()
        return (
            f"{address} for all machines that reach this one" if self._server.is_open_to_others else address
        )

    def close(self) -> None:
        """Listen no more; it may be called again, and before `open`."""
        if self._server is not None:
            logging.getLogger().removeHandler(self._counting)
            self._server.stop()

    def verdict(self) -> Verdict:
        """How the run is; a change is told, on a thread that may wait: whoever asks must not."""
        verdict = self.health.verdict()
        with self._lock:
            before, self._told = self._told, verdict
        if before is None or before.cause == verdict.cause:
            return verdict
        # A terminal that takes nothing, for instance, may be what is wrong.
        Thread(target=_tell_of, args=(verdict,), name="health", daemon=True).start()
        return verdict

    # What a run tells.

    def ready(self) -> None:
        """The run begins: from now on captions are owed."""
        if self.is_on:
            self.health.ready()

    @contextmanager
    def loading(self) -> Iterator[None]:
        """While a model is loaded, nothing is owed."""
        if self.is_on:
            self.health.loads(1)
        try:
            yield
        finally:
            if self.is_on:
                self.health.loads(-1)

    def end(self) -> None:
        """No more will come."""
        if self.is_on:
            self.health.over()

    def audio(self, chunk: AudioChunk) -> AudioChunk:
        """Take note of sound, and hand it on."""
        self.metrics.heard(chunk.duration_s)
        peak = level(chunk.pcm).peak_dbfs
        self.health.audio(chunk.duration_s, peak, is_live=self._is_live, is_last=chunk.is_last)
        return chunk

    def partial(self, partial: Partial) -> Partial:
        """Take note of a hypothesis, and hand it on."""
        self.metrics.partial()
        self.health.partial(partial.key, partial.revision)
        return partial

    def record(self, record: ErasureRecord) -> None:
        """Take note of a caption that was shown."""
        if self.is_on:
            self.metrics.record(record)
            is_lost = record.trouble is not None and record.trouble.is_loss
            self.health.caption(record.key, record.revision, is_answer=not is_lost)

    def lose(self, losses: Losses) -> None:
        """Take note of sound that was lost: all of it, so far."""
        if self.is_on:
            before, self._losses = self._losses, losses
            absent_s = losses.absent_s - before.absent_s
            self.metrics.lost(losses.total_s - before.total_s - absent_s, absent_s)

    def microphone(self, sentence: str) -> None:
        """A microphone has gone, or is back; the next sound says that it is there."""
        if self.is_on:
            self.health.lost(sentence)

    def recognizer(self, sentence: str) -> None:
        """Something happened to the recogniser; the next hypothesis says that it works."""
        if self.is_on:
            self.health.recognizer(sentence)


def _tell_of(verdict: Verdict) -> None:
    if verdict.cause is not None:
        tell("health_failing", str(verdict.reason), level=logging.WARNING, cause=verdict.cause)
    else:
        tell("health_recovered", "all is well again", level=logging.INFO)
