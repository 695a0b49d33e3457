"""Moonshine's own library on the same audio: what our decoder is held against.

The library leaks some 15 MB for each minute of speech, which a benchmark can afford.
"""

from collections.abc import Sequence
from time import perf_counter
from typing import Any, NamedTuple

from operators.events import SAMPLE_RATE
from operators.recognizers.moonshine.recognizer import bundled_model
from operators.recognizers.windowed.voice import Samples

#: Without it the library transcribes by a clock of its own.
_FORCE_UPDATE = 1


class NativeUpdate(NamedTuple):
    """A line of the library's transcript as it stood after an update."""

    line: int
    text: str
    is_final: bool


class NativeTrial(NamedTuple):
    """One recording, heard by the library."""

    updates: list[NativeUpdate]
    seconds: float


class NativeLibrary:
    """The library with the model that comes along."""

    def __init__(self) -> None:
        from moonshine_voice import ModelArch, Transcriber

        self._transcriber: Any = Transcriber(str(bundled_model()), ModelArch.TINY)

    def hear(self, audio: Samples, interval_s: float) -> NativeTrial:
        """Hear a recording as if it were live: an update after each interval, as fast as it goes."""
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
