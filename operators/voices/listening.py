"""Tells who speaks in each segment that a recogniser hears in one stream."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from typing_extensions import override

from operators.events import SAMPLE_RATE, AudioChunk
from operators.recognizers.part import MIN_GAP_S
from operators.recognizers.protocol import Hypothesis
from operators.voices.assigning import Voice, Voices, VoicesState, unit
from operators.voices.protocol import Embedding, Encoder, Samples

#: Samples of a window, of which an encoder makes an embedding, and between two of them.
WINDOW, HOP = round(1.6 * SAMPLE_RATE), round(0.8 * SAMPLE_RATE)
#: Samples from which on a voice is told, and of a segment that is over.
_ENOUGH, _LEAST = round(1.2 * SAMPLE_RATE), round(0.5 * SAMPLE_RATE)
# Segments are shorter; of longer ones, the newest sound is looked at.
_KEPT = 30 * SAMPLE_RATE
# As recognisers do, one takes sound for continuous up to this.
_GAP = round(MIN_GAP_S * SAMPLE_RATE)


class Listener(Protocol):
    """Tells who speaks in one stream."""

    @property
    def state(self) -> VoicesState:
        """What a later run needs to know the voices."""
        ...

    def hear(self, chunk: AudioChunk) -> None:
        """Take sound, before the hypotheses of it are told."""
        ...

    def speaker(self, hypothesis: Hypothesis) -> str:
        """Who speaks in a segment, as of `SegmentEvent.speaker`; empty if that is not known (yet)."""
        ...

    def rename(self, label: str, name: str) -> None:
        """Call a voice by this name from now on."""
        ...

    def pause(self) -> None:
        """The recogniser has ended: a later one counts its segments anew."""
        ...


class OnlySpeaker(Listener):
    """The one speaker of a stream."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    @override
    def state(self) -> VoicesState:
        return VoicesState()

    @override
    def hear(self, chunk: AudioChunk) -> None:
        pass

    @override
    def speaker(self, hypothesis: Hypothesis) -> str:
        return self.name

    @override
    def rename(self, label: str, name: str) -> None:
        if label == self.name:
            self.name = name

    @override
    def pause(self) -> None:
        pass


class _Segment:
    """The sound of a segment that goes on."""

    def __init__(self, start: int) -> None:
        #: Position of its first sample.
        self.start = start
        #: The embeddings of its windows, added up, and their number.
        self.total: Embedding | None = None
        self.windows = 0
        self.voice: Voice | None = None


class VoiceListener(Listener):
    """Tells voices apart by the embeddings of a segment's windows, each of which is computed once.

    Args:
        state: That of a new stream or of an earlier run.
        known: Voices that have a name before they speak: the name, an embedding, and its seconds.
        most: The number of voices that there may be.
    """

    def __init__(
        self,
        encoder: Encoder,
        state: VoicesState,
        most: int,
        known: Sequence[tuple[str, Embedding, float]] = (),
    ) -> None:
        self._encoder = encoder
        self._voices = Voices(state, encoder.threshold, most)
        for name, embedding, seconds in known:
            self._voices.know(name, embedding, seconds)
        # The newest sound, and the position of its first sample.
        self._sound: Samples = np.zeros(0, np.float32)
        self._origin = 0
        # By the recogniser's number.
        self._open: dict[int, _Segment] = {}

    @property
    @override
    def state(self) -> VoicesState:
        return self._voices.state

    @override
    def hear(self, chunk: AudioChunk) -> None:
        position = round(chunk.start_s * SAMPLE_RATE)
        gap = position - self._end if abs(position - self._end) > _GAP else 0
        if not 0 <= gap <= _KEPT:
            self._sound, self._origin, gap = np.zeros(0, np.float32), position, 0
        samples = np.frombuffer(chunk.pcm, "<i2", count=len(chunk.pcm) // 2).astype(np.float32) / 32768.0
        # The recogniser ends at a gap what began before, of which the sound is still needed.
        self._sound = np.concatenate((self._sound, np.zeros(gap, np.float32), samples))
        self._forget(self._end - _KEPT)

    @override
    def speaker(self, hypothesis: Hypothesis) -> str:
        number, is_final = hypothesis.segment, hypothesis.is_final
        if number not in self._open and not hypothesis.text.strip():
            return ""  # perhaps it is no speech
        start, end = round(hypothesis.start_s * SAMPLE_RATE), round(hypothesis.end_s * SAMPLE_RATE)
        end = min(end, self._end)
        segment = self._open.pop(number, None) or _Segment(start)
        if is_final and hypothesis.is_doubtful:
            self._voices.withdraw(segment.voice)
            return ""
        embedding = self._embedding(segment, end, is_over=is_final)
        if embedding is not None:
            tell = self._voices.assign if is_final else self._voices.guess
            segment.voice = tell(embedding, (end - segment.start) / SAMPLE_RATE, segment.voice)
        if not is_final:
            self._open[number] = segment
        return "" if segment.voice is None else segment.voice.label

    @override
    def rename(self, label: str, name: str) -> None:
        self._voices.rename(label, name)

    @override
    def pause(self) -> None:
        self._open.clear()

    @property
    def _end(self) -> int:
        return self._origin + len(self._sound)

    def _embedding(self, segment: _Segment, end: int, *, is_over: bool) -> Embedding | None:
        """The mean of the segment's windows up to ``end``; None for too little sound, or of nobody."""
        if not segment.windows:
            segment.start = max(segment.start, self._origin)
        while (begin := segment.start + segment.windows * HOP) + WINDOW <= end:
            made = self._encoder.embed(self._slice(begin, begin + WINDOW))
            segment.total = made if segment.total is None else segment.total + made
            segment.windows += 1
        covered = segment.start + (segment.windows - 1) * HOP + WINDOW if segment.windows else segment.start
        total = segment.total
        if total is None or (is_over and end - covered > HOP // 2):
            if end - segment.start < (_LEAST if is_over else _ENOUGH):
                return None
            last = self._encoder.embed(self._slice(max(segment.start, end - WINDOW), end))
            total = last if total is None else total + last
        return unit(total) if 0 < float(np.linalg.norm(total)) < np.inf else None

    def _slice(self, begin: int, end: int) -> Samples:
        return self._sound[max(0, begin - self._origin) : max(0, end - self._origin)]

    def _forget(self, position: int) -> None:
        drop = position - self._origin
        # Not at every chunk, because the rest is copied.
        if drop > SAMPLE_RATE:
            self._sound, self._origin = self._sound[drop:].copy(), position


def embedded(encoder: Encoder, samples: Samples) -> tuple[Embedding, float]:
    """The embedding of a recording of one voice, and the seconds of it."""
    starts = range(0, max(1, len(samples) - WINDOW + 1), HOP)
    windows = [encoder.embed(samples[start : start + WINDOW]) for start in starts]
    total: Embedding = np.sum(windows, axis=0, dtype=np.float32)
    return unit(total), len(samples) / SAMPLE_RATE


#: Makes the listener of a stream, given its name and its state.
MakeListener = Callable[[str, VoicesState], Listener]
