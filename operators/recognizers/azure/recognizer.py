"""Azure's speech service as a recogniser that survives lost connections.

All state belongs to a thread of the recogniser; `AzureRecognizer.accept` and the callbacks of Azure's SDK
only post functions to it. The audio since the last final is kept, and a new connection gets it again. So no
text is lost, and no final is repeated. Positions are numbers of samples since the stream's first one.
"""

import atexit
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import Enum
from functools import partial
from queue import Empty, SimpleQueue
from random import uniform
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any

import azure.cognitiveservices.speech as sdk
import numpy as np
from msgspec.structs import replace
from typing_extensions import override

from operators.errors import InputError
from operators.events import SAMPLE_RATE, AudioChunk
from operators.languages import Language
from operators.notifications import RecognizerChanged
from operators.recognizers.azure import AzureSettings, Service, locale, service
from operators.recognizers.protocol import Hypothesis, Recognizer

# Seconds of audio kept in order to send it again after a lost connection.
_REPLAY_S = 60.0
# A connection counts as lost after this many seconds of sound, and of time, without an answer. In silence a
# service sends nothing. Sound is louder than this amplitude of 16-bit samples (-44 dB).
_ANSWER_S, _SILENCE = 10.0, 200.0
# Seconds to wait for the last results when the audio is over.
_FINISH_S = 10.0
# Maximum seconds to connect to a distant service, and to wait for the reason of a disconnection, which comes
# immediately or never.
_CONNECT_S, _REASON_S = 10.0, 0.3
# Seconds between attempts: doubled from the first to the longest, and short once the audio is over.
_FIRST_WAIT_S, _LONGEST_WAIT_S, _LAST_WAIT_S = 0.5, 30.0, 0.5
# How often the clock is checked while nothing else happens.
_TICK_S = 0.1
# Seconds to wait for a connection to close, which takes two at most; to wait at exit, which may take longer
# on a busy machine; and for the last callbacks.
_CLOSE_S, _EXIT_S, _LAST_CALLBACK_S = 4.0, 30.0, 0.1


class _AudioBuffer:
    """The latest audio of a stream, kept for sending it again, and its clock."""

    def __init__(self) -> None:
        #: Position, time on the stream's clock, and samples.
        self._pieces: deque[tuple[int, float, bytes]] = deque()
        #: Positions of the oldest kept sample, of the next one to send, and of the next one to come.
        self.begin = self.sent = self.heard = 0
        #: Samples that were dropped before they were sent.
        self.lost = 0

    def append(self, chunk: AudioChunk) -> None:
        pcm = chunk.pcm[: len(chunk.pcm) // 2 * 2]
        if not pcm:
            return
        self._pieces.append((self.heard, chunk.start_s, pcm))
        self.heard += len(pcm) // 2
        while self.heard - self.begin > round(_REPLAY_S * SAMPLE_RATE) and len(self._pieces) > 1:
            self._drop()

    def forget(self, position: int) -> None:
        """Drop the audio before a position; the newest piece stays, for its clock."""
        while len(self._pieces) > 1 and self._pieces[1][0] <= min(position, self.sent):
            self._drop()

    def rewind(self, position: int) -> None:
        self.sent = max(position, self.begin)

    def take_unsent(self) -> list[bytes]:
        """The audio to send; it counts as sent from now on."""
        sent, self.sent = self.sent, self.heard
        pieces = (pcm[2 * max(0, sent - at) :] for at, _, pcm in self._pieces)
        return [pcm for pcm in pieces if pcm]

    def start_s(self, position: int) -> float:
        at, time_s, _ = next((one for one in reversed(self._pieces) if one[0] <= position), self._pieces[0])
        return max(0.0, time_s + (position - at) / SAMPLE_RATE)

    def end_s(self, position: int) -> float:
        """When the sample before a position ended; a gap that begins there does not count."""
        return self.start_s(position - 1) + 1 / SAMPLE_RATE

    def _drop(self) -> None:
        self._pieces.popleft()
        self.begin = self._pieces[0][0]
        self.lost += max(0, self.begin - self.sent)
        self.sent = max(self.sent, self.begin)


class _Utterances:
    """Numbers one stream's utterances, and delivers each of them once.

    After a lost connection the service gets the audio since the last final again. The open segment continues
    with its number once the new connection has reached the position of the old one.
    """

    def __init__(self, audio: _AudioBuffer) -> None:
        self._audio = audio
        self._next = 0
        self._open: Hypothesis | None = None
        self._begin = self._end = 0
        #: Whether the open one is from a lost connection whose position the new one has not reached yet.
        self._is_replayed = False
        #: Everything before this position has its final, or contains no speech.
        self.confirmed = 0

    def resume(self) -> list[Hypothesis]:
        """A new connection starts at `confirmed`. An open segment ends if its first audio was dropped."""
        self._is_replayed = True
        return self.finish() if self._begin < self._audio.begin else []

    def take(self, text: str, begin: int, end: int, *, is_final: bool) -> list[Hypothesis]:
        """The hypotheses from a result of the service for the audio between two positions."""
        # A second final for the same speech, or an empty result.
        if (text and end <= self.confirmed) or not (text or is_final):
            return []
        hypotheses: list[Hypothesis] = []
        if self._open and text and begin >= self._end and begin > self._begin:
            # Another utterance, although the open one has no final yet.
            hypotheses += self.finish()
        if self._open is None and text:
            start_s = self._audio.start_s(begin)
            self._open = Hypothesis(
                segment=self._next, text=text, is_final=False, start_s=start_s, end_s=start_s
            )
            self._begin, self._is_replayed = begin, False
            self._next += 1
        elif self._open and self._is_replayed and (end < self._end if not is_final else end <= self._begin):
            return []
        if self._open:
            self._end, self._is_replayed = max(end, self._begin), False
            end_s = max(self._open.start_s, self._audio.end_s(self._end))
            # A final without text ends the segment with its last text: `PartialNumbering` ensures that.
            self._open = replace(self._open, text=text, end_s=end_s, is_final=is_final)
            hypotheses.append(self._open)
        if is_final:
            self._open = None
            self.confirmed = max(self.confirmed, end)
        return hypotheses

    def finish(self) -> list[Hypothesis]:
        if self._open is None:
            return []
        last, self._open = self._open, None
        self.confirmed = max(self.confirmed, self._end)
        return [replace(last, is_final=True)]


class _Failure(Enum):
    LOST = "connection to Azure lost"
    STOPPED = "Azure stopped recognising"
    SILENT = "Azure no longer answers"
    BUSY = "Azure accepts no more requests for now"
    KEY = "Azure refused the key"
    REQUEST = "Azure refused to continue"


_FAILURES = {
    sdk.CancellationErrorCode.AuthenticationFailure: _Failure.KEY,
    sdk.CancellationErrorCode.Forbidden: _Failure.KEY,
    sdk.CancellationErrorCode.BadRequest: _Failure.REQUEST,
    sdk.CancellationErrorCode.TooManyRequests: _Failure.BUSY,
    sdk.CancellationErrorCode.ServiceUnavailable: _Failure.BUSY,
}
_TICKS_PER_SAMPLE = 10_000_000 // SAMPLE_RATE
_PROPERTIES = {
    "SPEECH-Error-MaxRetryCount": "0",
    "SPEECH-AudioThrottleLowAsPercentageOfRealTime": "200",
    "SPEECH-StopRecognitionTimeoutInSeconds": "1",
    "SPEECH-TelemetryDataEnabled": "false",
}


Post = Callable[[Callable[[], None]], None]


class _Connection:
    """One connection through Azure's SDK (1.53), opened without waiting for it. Peculiarities of the SDK:

    - It can reconnect by itself, four times without waiting, and repeats earlier results: turned off.
    - When the service closes the connection properly, it reports ``disconnected`` and nothing more.
    - It sends late audio at twice the normal speed only for half a minute: configured to keep the speed.
    - Stopping and releasing wait for the service, by default 10 s each.
    - A recogniser and its callbacks, which run on the SDK's threads, reference each other.
    - It starts on a separate thread, and crashes the process if the recogniser is released meanwhile.

    ``post`` runs a function on the recogniser's thread. ``receive`` gets each result there: its text, the
    positions of its begin and end, and whether it is final.
    """

    def __init__(
        self, service: Service, tag: str, post: Post, receive: Callable[[str, int, int, bool], None]
    ) -> None:
        self._receive = receive
        self._deadline_s = monotonic() + _CONNECT_S
        self._answered_s = float("inf")
        self._unanswered_s = 0.0
        #: Position of the first sample that is sent; None before.
        self.base: int | None = None
        self.is_connected = self.is_audio_over = self.is_over = self.has_answered = False
        self.failure: _Failure | None = None
        try:
            self._open(service, tag, post)
        except (RuntimeError, ValueError, OSError):
            # Its message may quote the configuration, including the key.
            raise InputError(
                f"Azure's speech library cannot be started for {service.place}; check the azure settings, "
                "and that OpenSSL 3 is installed"
            ) from None

    def _open(self, service: Service, tag: str, post: Post) -> None:
        config = sdk.SpeechConfig(
            subscription=service.key.reveal() if service.key else None,
            region=service.region,
            endpoint=service.endpoint,
            host=service.host,
            speech_recognition_language=tag,
        )
        for name, value in _PROPERTIES.items():
            config.set_property_by_name(name, value)
        layout = sdk.audio.AudioStreamFormat(samples_per_second=SAMPLE_RATE, bits_per_sample=16, channels=1)
        self._stream = sdk.audio.PushAudioInputStream(layout)
        self._recognizer = sdk.SpeechRecognizer(config, sdk.audio.AudioConfig(stream=self._stream))
        self._line = sdk.Connection.from_recognizer(self._recognizer)

        def result(event: Any, *, is_final: bool) -> None:
            ticks = event.result.offset, event.result.offset + event.result.duration
            post(partial(self._on_result, event.result.text.strip(), ticks, is_final=is_final))

        self._line.connected.connect(lambda _event: post(self._on_connected))
        self._line.disconnected.connect(lambda _event: post(self._on_disconnected))
        self._recognizer.recognizing.connect(partial(result, is_final=False))
        self._recognizer.recognized.connect(partial(result, is_final=True))
        self._recognizer.canceled.connect(lambda event: post(partial(self._end, _failure(event.result))))
        self._recognizer.session_stopped.connect(lambda _event: post(partial(self._end, _Failure.STOPPED)))
        self._started = self._recognizer.start_continuous_recognition_async()

    def check_timeouts(self) -> None:
        now_s = monotonic()
        if now_s >= self._deadline_s:
            self._end(_Failure.LOST)
        elif min(now_s - self._answered_s, self._unanswered_s) >= _ANSWER_S:
            self._end(_Failure.SILENT)

    def write(self, pcm: bytes) -> None:
        # ``pcm`` must not be empty, because that would end the audio.
        samples = np.frombuffer(pcm, "<i2").astype(np.float32)
        if np.sqrt(np.mean(samples * samples)) > _SILENCE:
            self._unanswered_s += len(samples) / SAMPLE_RATE
        self._stream.write(pcm)

    def end_audio(self) -> None:
        self.is_audio_over = True
        self._stream.close()

    def close(self) -> None:
        """Close the connection; takes up to two seconds if the service does not react."""
        self.is_over = True
        recognizer, line = self._recognizer, self._line
        for signal in (
            line.connected, line.disconnected, recognizer.recognizing, recognizer.recognized,
            recognizer.canceled, recognizer.session_stopped,
        ):  # fmt: skip
            signal.disconnect_all()
        # A lost connection may refuse to be started or to be closed.
        with suppress(RuntimeError):
            self._started.get()
        with suppress(RuntimeError):
            self._stream.close()
            recognizer.stop_continuous_recognition_async().get()
        # Releasing the last references closes the connection and ends its threads.
        del self._started, self._line, self._recognizer, self._stream

    def _on_connected(self) -> None:
        if not self.is_connected:
            self.is_connected = True
            self._answered_s, self._deadline_s = monotonic(), float("inf")

    def _on_disconnected(self) -> None:
        self._deadline_s = monotonic() + _REASON_S

    def _on_result(self, text: str, ticks: tuple[int, int], *, is_final: bool) -> None:
        self.has_answered = True
        self._answered_s, self._unanswered_s = monotonic(), 0.0
        if self.base is not None and not self.is_over:
            begin, end = (self.base + max(0, one // _TICKS_PER_SAMPLE) for one in ticks)
            self._receive(text, begin, end, is_final)

    def _end(self, failure: _Failure | None) -> None:
        if not self.is_over:
            self.is_over = True
            # The results are complete only if all audio was processed.
            self.failure = failure or (None if self.is_audio_over else _Failure.STOPPED)


def _failure(result: Any) -> _Failure | None:
    details = result.cancellation_details
    if details.reason == sdk.CancellationReason.EndOfStream:
        return None
    return _FAILURES.get(details.code, _Failure.LOST)


class AzureRecognizer(Recognizer):
    """Recognises one stream in the cloud; English by default.

    Nothing is sent before the first chunk. ``observe`` is called on the recogniser's own thread. Raises
    `UsageError` if the settings and the environment do not name a possible service, and later `InputError`
    when Azure refuses the key or the request.
    """

    def __init__(
        self,
        settings: AzureSettings,
        observe: Callable[[RecognizerChanged], None],
        spoken: Language | None = None,
    ) -> None:
        self._service = service(settings)
        self._tag = (settings.language if spoken is None else locale(settings, spoken)) or "en-US"
        self._observe = observe
        self._thread: Thread | None = None
        #: Functions for the thread to run.
        self._posted: SimpleQueue[Callable[[], None]] = SimpleQueue()
        #: The results of the thread, and whether they are complete.
        self._hypotheses: deque[Hypothesis] = deque()
        self._error: Exception | None = None
        self._is_done = Event()
        self._is_closing = False
        #: The following fields are used only by the thread.
        self._audio = _AudioBuffer()
        self._utterances = _Utterances(self._audio)
        #: Deadline for the last results, once the audio is over.
        self._finish_by_s: float | None = None
        #: Consecutive failed attempts, and the messages that were sent.
        self._failed = 0
        self._was_connected = self._is_outage_told = False

    @override
    def accept(self, chunk: AudioChunk) -> Sequence[Hypothesis]:
        self._posted.put(partial(self._audio.append, chunk))
        if self._thread is None:
            self._thread = Thread(target=self._run, name="azure recogniser", daemon=True)
            self._thread.start()
            atexit.register(self._close_at_exit)
        return self._take()

    @override
    def finish(self) -> Sequence[Hypothesis]:
        if self._thread is None:
            return []
        self._posted.put(self._begin_finish)
        if not self._is_done.wait(_FINISH_S + _CLOSE_S) or self._is_over:
            self._tell(f"Azure did not answer within {_FINISH_S:g} s, so the last words may be missing")
        hypotheses = self._take()
        if self._error is not None:
            self._tell(str(self._error))
        return hypotheses

    @override
    def close(self) -> None:
        self._is_closing = True
        if self._thread is not None:
            self._thread.join(_CLOSE_S)
            atexit.unregister(self._close_at_exit)

    def _close_at_exit(self) -> None:
        # An exiting Python ends threads that need the interpreter, and the SDK's then abort the process.
        self.close()
        if self._thread is not None:
            self._thread.join(_EXIT_S)
        # Wait for a callback of the SDK that began before it was disconnected.
        sleep(_LAST_CALLBACK_S)

    def _take(self) -> list[Hypothesis]:
        error = self._error
        hypotheses = [self._hypotheses.popleft() for _ in range(len(self._hypotheses))]
        # Results from before an error are delivered before it.
        if error is not None and not hypotheses:
            raise error
        return hypotheses

    def _begin_finish(self) -> None:
        self._finish_by_s = monotonic() + _FINISH_S

    @property
    def _is_over(self) -> bool:
        return self._is_closing or (self._finish_by_s is not None and monotonic() > self._finish_by_s)

    def _run(self) -> None:
        try:
            while (failure := self._connect()) is not None:
                self._wait(failure)
        except Exception as error:  # noqa: BLE001 - raised again in the flow's thread
            self._error = error
        finally:
            self._end()

    def _end(self) -> None:
        self._hypotheses.extend(self._utterances.finish())
        self._is_done.set()

    def _run_posted(self) -> None:
        with suppress(Empty):
            self._posted.get(timeout=_TICK_S)()
            while True:
                self._posted.get_nowait()()

    def _connect(self) -> _Failure | None:
        self._hypotheses.extend(self._utterances.resume())
        self._audio.rewind(self._utterances.confirmed)
        connection = _Connection(self._service, self._tag, self._posted.put, self._receive)
        try:
            while not (connection.is_over or self._is_over):
                self._run_posted()
                connection.check_timeouts()
                self._audio.forget(self._utterances.confirmed)
                if connection.has_answered:
                    self._failed = 0
                if connection.is_connected and not connection.is_over:
                    self._send(connection)
            if self._is_over or connection.failure is None:
                # The results do not wait for the connection to be closed.
                self._end()
                return None
            return connection.failure
        finally:
            connection.close()

    def _receive(self, text: str, begin: int, end: int, is_final: bool) -> None:
        heard = self._audio.heard
        # A result beyond the received audio would end the current utterance.
        if begin <= heard:
            self._hypotheses.extend(self._utterances.take(text, begin, min(end, heard), is_final=is_final))

    def _send(self, connection: _Connection) -> None:
        if connection.base is None:
            # Audio at the start may have been dropped while it connected.
            connection.base = self._audio.sent
            self._tell_connected(self._audio.lost / SAMPLE_RATE)
            self._audio.lost = 0
        for pcm in self._audio.take_unsent():
            connection.write(pcm)
        if self._finish_by_s is not None and not connection.is_audio_over:
            connection.end_audio()

    def _tell_connected(self, lost_s: float) -> None:
        sentence = "connected again" if self._was_connected else f"connected to Azure, {self._service.place}"
        if lost_s:
            sentence += f"; {lost_s:.1f} s of audio are lost, more than the {_REPLAY_S:g} s that are kept"
        self._was_connected, self._is_outage_told = True, False
        self._tell(sentence)

    def _wait(self, failure: _Failure) -> None:
        """Wait for the next attempt. Raises `InputError` if a new attempt would fail too."""
        place = self._service.place
        if failure is _Failure.KEY:
            raise InputError(
                f"Azure refused the key for {place}; check the key, and that it belongs to that region"
            )
        if failure is _Failure.REQUEST and not self._was_connected:
            raise InputError(f"{place}: Azure refused the request; check azure.language and the address")
        # Jitter: many recognisers that lost the same service must not reconnect at the same moment.
        wait_s = min(_FIRST_WAIT_S * 2**self._failed, _LONGEST_WAIT_S) * uniform(0.8, 1.2)
        self._failed = min(self._failed + 1, 10)
        if not self._is_outage_told:
            is_new = failure is _Failure.LOST and not self._was_connected
            what = f"no connection to Azure, {place}, yet" if is_new else failure.value
            self._tell(f"{what}, trying again in {wait_s:.2g} s, then less and less often")
            self._is_outage_told = True
        began_s = monotonic()
        while not self._is_over and monotonic() - began_s < wait_s:
            self._run_posted()
            if self._finish_by_s is not None:
                wait_s = min(wait_s, _LAST_WAIT_S)

    def _tell(self, sentence: str) -> None:
        self._observe(RecognizerChanged(sentence))
