"""A recogniser of your own: it hears tones and calls each of them "beep"; a second of silence ends a segment.

python docs/examples/own_recognizer.py talk.wav
"""

import sys
from array import array
from collections.abc import Sequence
from pathlib import Path

from bytewax import operators as op
from bytewax.dataflow import Dataflow
from bytewax.testing import run_main

from connectors import AudioFileSource, CallbackSink
from operators import AudioChunk, Hypothesis, Partial, recognize


class Beeps:
    """A `Recognizer`: one stream's audio in, hypotheses out. It inherits from nothing."""

    def __init__(self) -> None:
        self._segment = self._beeps = 0
        self._is_loud = False
        self._start_s = self._end_s = 0.0

    def accept(self, chunk: AudioChunk) -> Sequence[Hypothesis]:
        """Hear a chunk, which is some 100 ms."""
        was_loud = self._is_loud
        self._is_loud = max(map(abs, array("h", chunk.pcm)), default=0) > 1000
        ends_s = chunk.start_s + chunk.duration_s
        if self._is_loud:
            self._start_s = self._start_s if self._beeps else chunk.start_s
            self._beeps += not was_loud
            self._end_s = ends_s
            return [] if was_loud else [self._hypothesis()]
        return self.finish() if ends_s - self._end_s >= 1.0 else []

    def finish(self) -> Sequence[Hypothesis]:
        """Give the final of a segment that is open."""
        if not self._beeps:
            return []
        final = self._hypothesis(is_final=True)
        self._segment, self._beeps = self._segment + 1, 0
        return [final]

    def close(self) -> None:
        """There is nothing to free."""

    def _hypothesis(self, *, is_final: bool = False) -> Hypothesis:
        text = " ".join(["beep"] * self._beeps)
        return Hypothesis(
            segment=self._segment, text=text, is_final=is_final, start_s=self._start_s, end_s=self._end_s
        )


def tell(partial: Partial) -> None:
    """Print a hypothesis."""
    print(f"{partial.end_s:6.1f} s {'=' if partial.is_final else '~'} {partial.text}")


def flow(path: Path) -> Dataflow:
    """The flow: audio, partials."""
    made = Dataflow("own-recognizer")
    audio = op.input("audio", made, AudioFileSource(path, stream=path.stem))
    op.output("tell", recognize("recognize", audio, lambda _stream: Beeps()), CallbackSink(tell))
    return made


if __name__ == "__main__":
    run_main(flow(Path(sys.argv[1])))
