"""A load on a job that reads and writes Kafka: partials into its topic, and captions out of the other one."""

import secrets
from collections.abc import Iterator
from contextlib import closing
from threading import Event as Flag
from time import monotonic

from connectors.kafka.exchange import Exchange, Topic
from flows.captions.kafka import check_topics, input_cluster, output_cluster
from flows.measuring.load.run import Meter, told_memory_mb
from flows.measuring.playback import Due, Load, partials
from flows.settings.schema import Settings
from operators.errors import UsageError
from operators.events import Caption, Partial
from operators.serving.simulation import Recording

# Seconds to wait for the next caption after the rooms have fallen silent.
_PATIENCE_S = 60.0
# Seconds of waiting for captions after which is looked whether the load is to end.
_LOOK_S = 0.2


class KafkaTarget:
    """A job that runs somewhere, as its settings describe it."""

    name = "Kafka"

    def __init__(self, job: Settings, recording: Recording, metrics: str | None, stop: Flag) -> None:
        """Prepare a load.

        Args:
            job: The settings of the job: which topic it reads, and to which one it writes captions.
            recording: What is said in each room.
            metrics: Address of the job's metrics, which tell its memory.
            stop: When set, the rooms fall silent.

        Raises:
            UsageError: unless the job reads partials from a topic and writes captions to another one.
            InputError: when a topic cannot be read.
            OutputError: when one cannot be written.
        """
        given, captions = job.input.kafka, job.output.kafka.captions
        if given.topic is None or given.events != "partials" or captions is None:
            raise UsageError(
                "--job: a load needs a job that reads partials from input.kafka.topic and writes captions to "
                "output.kafka.captions; give the settings of such a job"
            )
        check_topics(job)
        self._to = Topic(input_cluster(job), given.topic)
        self._back = Topic(output_cluster(job), captions)
        self._recording = recording
        self._metrics = metrics
        self._stop = stop

    def run(self, load: Load, meter: Meter) -> None:
        """Speak in all rooms; raises the errors of `Exchange`."""
        # A job remembers the updates that it knows: each load needs rooms of its own.
        prefix = f"load {secrets.token_hex(3)}, "
        with closing(Exchange(self._to, self._back, Caption)) as exchange:
            _Speaking(exchange, partials(self._recording, load, prefix), meter, self._stop).speak()

    def memory_mb(self) -> float | None:
        """What the job's metrics say."""
        return None if self._metrics is None else told_memory_mb(self._metrics)


class _Speaking:
    """One load: partials go out when they are due, and captions come back meanwhile."""

    def __init__(
        self, exchange: Exchange[Caption], said: Iterator[Due[Partial]], meter: Meter, stop: Flag
    ) -> None:
        self._exchange = exchange
        self._said = said
        self._meter = meter
        self._stop = stop
        self._began_s = monotonic()
        # When each revision of the open segments was sent, and which of them have had their final sent.
        self._sent_s: dict[tuple[str, int], dict[int, float]] = {}
        self._unanswered: set[tuple[str, int]] = set()

    def speak(self) -> None:
        for due_s, partial in self._said:
            while (wait_s := self._began_s + due_s - monotonic()) > 0 and not self._stop.is_set():
                self._hear(min(wait_s, _LOOK_S))
            if self._stop.is_set():
                return
            self._send(partial)
        self._wait()
        self._meter.add(lost=len(self._unanswered))

    def _wait(self) -> None:
        """Until all finals have come back, or nothing has come for long."""
        heard_s = monotonic()
        while self._unanswered and monotonic() - heard_s < _PATIENCE_S and not self._stop.is_set():
            if self._hear(_LOOK_S):
                heard_s = monotonic()

    def _send(self, partial: Partial) -> None:
        segment = (partial.stream, partial.segment)
        self._sent_s.setdefault(segment, {})[partial.revision] = monotonic()
        if partial.is_final:
            self._unanswered.add(segment)
        self._exchange.send(partial)
        self._hear(0)

    def _hear(self, wait_s: float) -> int:
        """Take the captions that have come back, and return their number; waits so long for the first one."""
        count = 0
        for caption in self._exchange.received(wait_s):
            count += self._caption(caption)
        return count

    def _caption(self, caption: Caption) -> bool:
        segment = (caption.stream, caption.segment)
        sent_s = self._sent_s.get(segment, {})
        if caption.revision not in sent_s:
            # Of somebody else, or for the second time.
            return False
        now_s = monotonic()
        lag_s = now_s - sent_s[caption.revision]
        self._meter.caption(now_s - self._began_s, lag_s, is_final=caption.is_final)
        self._meter.add(dropped=caption.overtaken)
        if caption.is_final:
            del self._sent_s[segment]
            self._unanswered.discard(segment)
        else:
            self._sent_s[segment] = {
                revision: at_s for revision, at_s in sent_s.items() if revision > caption.revision
            }
        return True
