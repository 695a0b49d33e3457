"""One connection to Azure's speech service through its SDK, and the SDK's peculiarities (1.53).

- Its callbacks run on its own threads, so they only pass events on.
- It can reconnect by itself, four times without waiting, and repeats earlier results. That is turned off:
  after a failure a connection is closed, and its owner makes another one.
- When the service closes the connection properly, it reports ``disconnected`` and nothing more.
- It sends a backlog of audio at twice the normal speed, but only for half a minute, so late audio would stay
  late. It is configured to keep twice the speed.
- Stopping and releasing wait for the service, by default 10 s each.
- A recogniser and its callbacks reference each other until they are disconnected.
- It starts on a thread of its own, and crashes the process if the recogniser is released meanwhile. Starting
  takes milliseconds, whether the service answers or not.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import azure.cognitiveservices.speech as sdk

from operators.errors import InputError
from operators.events import SAMPLE_RATE
from operators.recognizers.azure.conversation import Connected, Disconnected, Event, Failure, Over, Result
from operators.recognizers.azure.settings import AzureSettings, Service

_TICKS_PER_SAMPLE = 10_000_000 // SAMPLE_RATE
_PROPERTIES = {
    "SPEECH-Error-MaxRetryCount": "0",
    "SPEECH-AudioThrottleLowAsPercentageOfRealTime": "200",
    "SPEECH-StopRecognitionTimeoutInSeconds": "1",
    "SPEECH-TelemetryDataEnabled": "false",
}


_CODES = {
    sdk.CancellationErrorCode.AuthenticationFailure: Failure.KEY,
    sdk.CancellationErrorCode.Forbidden: Failure.KEY,
    sdk.CancellationErrorCode.BadRequest: Failure.REQUEST,
    sdk.CancellationErrorCode.TooManyRequests: Failure.BUSY,
    sdk.CancellationErrorCode.ServiceUnavailable: Failure.BUSY,
}


class AzureConnection:
    """Connects at once, without waiting for it.

    Args:
        take: Receives the events, on threads of the SDK.

    Raises:
        InputError: when the SDK cannot be used.
    """

    def __init__(self, service: Service, settings: AzureSettings, take: Callable[[Event], None]) -> None:
        try:
            self._open(service, settings, take)
        except (RuntimeError, ValueError, OSError):
            # Its message may quote the configuration, including the key.
            raise InputError(
                f"Azure's speech library cannot be started for {service.place}; check the azure settings, "
                "and that OpenSSL 3 is installed"
            ) from None

    def _open(self, service: Service, settings: AzureSettings, take: Callable[[Event], None]) -> None:
        key = service.key.reveal() if service.key else None
        config = sdk.SpeechConfig(
            subscription=key,
            region=service.region,
            endpoint=service.endpoint,
            host=service.host,
            speech_recognition_language=settings.language,
        )
        for name, value in _PROPERTIES.items():
            config.set_property_by_name(name, value)
        if settings.stable_partials is not None:
            name = sdk.PropertyId.SpeechServiceResponse_StablePartialResultThreshold
            config.set_property(name, str(settings.stable_partials))
        layout = sdk.audio.AudioStreamFormat(samples_per_second=SAMPLE_RATE, bits_per_sample=16, channels=1)
        self._stream = sdk.audio.PushAudioInputStream(layout)
        self._recognizer = sdk.SpeechRecognizer(config, sdk.audio.AudioConfig(stream=self._stream))
        self._line = sdk.Connection.from_recognizer(self._recognizer)
        self._line.connected.connect(lambda _event: take(Connected()))
        self._line.disconnected.connect(lambda _event: take(Disconnected()))
        self._recognizer.recognizing.connect(lambda event: take(_result(event.result, is_final=False)))
        self._recognizer.recognized.connect(lambda event: take(_result(event.result, is_final=True)))
        self._recognizer.canceled.connect(lambda event: take(Over(_failure(event.result))))
        self._recognizer.session_stopped.connect(lambda _event: take(Over(Failure.STOPPED)))
        self._started = self._recognizer.start_continuous_recognition_async()

    def write(self, pcm: bytes) -> None:
        """Send audio, which must not be empty: that would end it."""
        self._stream.write(pcm)

    def end_audio(self) -> None:
        """Signal the end of the audio: `Over` comes after the last result."""
        self._stream.close()

    def close(self) -> None:
        """Close the connection; takes up to two seconds if the service does not react."""
        signals = (
            self._recognizer.recognizing,
            self._recognizer.recognized,
            self._recognizer.canceled,
            self._recognizer.session_stopped,
            self._line.connected,
            self._line.disconnected,
        )
        for signal in signals:
            signal.disconnect_all()
        # A lost connection may refuse to be started or to be closed.
        with suppress(RuntimeError):
            self._started.get()
        with suppress(RuntimeError):
            self._stream.close()
            self._recognizer.stop_continuous_recognition_async().get()
        # Releasing the last references closes the connection and ends its threads.
        del self._started, self._line, self._recognizer, self._stream


def _result(result: Any, *, is_final: bool) -> Result:
    begin = result.offset // _TICKS_PER_SAMPLE
    return Result(result.text, begin, begin + result.duration // _TICKS_PER_SAMPLE, is_final)


def _failure(result: Any) -> Failure | None:
    details = result.cancellation_details
    if details.reason == sdk.CancellationReason.EndOfStream:
        return None
    return _CODES.get(details.code, Failure.LOST)
