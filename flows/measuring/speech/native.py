"""Moonshine's own library on the same audio, as the baseline for our decoder.

The library leaks about 15 MB per minute of speech, which is acceptable in a benchmark.
"""

from collections.abc import Sequence
from time import perf_counter
from typing import Any, NamedTuple

from operators.events import SAMPLE_RATE
from operators.recognizers.moonshine.recognizer import bundled_model
from operators.recognizers.windowed.segmenter import Samples

#: Without this flag, the library transcribes by its own clock.
_FORCE_UPDATE = 1


class NativeUpdate(NamedTuple):
    """A line of the library's transcript after an update."""

    line: int
    text: str
    is_final: bool


class NativeTrial(NamedTuple):
    """One recording, recognised by the library."""

    updates: list[NativeUpdate]
    seconds: float


class NativeLibrary:
    """The library with its included model."""

    def __init__(self) -> None:
        from moonshine_voice import ModelArch, Transcriber

        self._transcriber: Any = Transcriber(str(bundled_model()), ModelArch.TINY)

    def recognize(self, audio: Samples, interval_s: float) -> NativeTrial:
        """Recognise a recording as if live, with an update after each interval, but as fast as possible."""
        began = perf_counter()
        stream = self._transcriber.create_stream(update_interval=3600.0)
        stream.start()
        updates: list[NativeUpdate] = []
        size = round(interval_s * SAMPLE_RATE)
        finished = 0
        for at in range(0, len(audio), size):
            stream.add_audio(audio[at : at + size].tolist(), SAMPLE_RATE)
            lines = stream.update_transcription(_FORCE_UPDATE).lines
            updates += _updates(lines, finished)
            finished = sum(line.is_complete for line in lines)
        lines = stream.stop().lines
        updates += _updates(lines, finished)
        seconds = perf_counter() - began
        stream.close()
        return NativeTrial(updates, seconds)


def _updates(lines: Sequence[Any], finished: int) -> list[NativeUpdate]:
    return [
        NativeUpdate(number, line.text, line.is_complete)
        for number, line in enumerate(lines)
        if number >= finished
    ]
