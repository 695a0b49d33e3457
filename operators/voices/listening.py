"""Detects who speaks in each segment of one stream, and where the speaker changes, by speaker embeddings."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from typing_extensions import override

from operators.events import SAMPLE_RATE, AudioChunk
from operators.recognizers.part import MIN_GAP_S
from operators.recognizers.protocol import Hypothesis, Span
from operators.voices.assigning import Voice, Voices, VoicesState, unit
from operators.voices.protocol import Embedding, Encoder, Samples

#: Samples of a window, from which an encoder computes an embedding, and samples from window to window.
WINDOW, HOP = round(1.6 * SAMPLE_RATE), round(0.8 * SAMPLE_RATE)
#: Minimum samples to assign a voice, in an open segment and in a finished one.
_ENOUGH, _LEAST = round(1.2 * SAMPLE_RATE), round(0.5 * SAMPLE_RATE)
# Maximum samples that are kept. Segments are shorter; of longer ones only the newest half of this is used.
_KEPT = 20 * SAMPLE_RATE
# Sound with a shorter gap counts as continuous, as in recognisers.
_GAP = round(MIN_GAP_S * SAMPLE_RATE)
# The voice changes if the product of a window and the mean of the windows before it (at most ``_BEFORE``) is
# ``_CHANGE`` below the threshold. This finds 92 % of the changes between readers, and 0.1 % of other windows.
_CHANGE, _BEFORE = 0.1, 6
# Nine of ten changes are between these seconds before and after the beginning of that window.
_EARLIER_S, _LATER_S = 0.3, 0.7


class Listener(Protocol):
    """Detects who speaks in one stream."""

    @property
    def state(self) -> VoicesState:
        """The state that a later run needs to recognise the voices."""
        ...

    def hear(self, chunk: AudioChunk) -> None:
        """Process sound; called before `speaker` for its hypotheses."""
        ...

    def speaker(self, hypothesis: Hypothesis) -> str:
        """Who speaks in a segment, as `SegmentEvent.speaker`; empty if that is not known (yet)."""
        ...

    def change(self, begin_s: float, end_s: float) -> Span | None:
        """Where another voice begins in an open segment, as `Change`."""
        ...

    def rename(self, label: str, name: str) -> None:
        """Name a voice from now on."""
        ...

    def pause(self) -> None:
        """The recogniser has ended: a later one counts its segments from 0 again."""
        ...


class OnlySpeaker(Listener):
    """The one speaker of a stream."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    @override
    def state(self) -> VoicesState:
        # The name may have been changed.
        return VoicesState(last=self.name)

    @override
    def hear(self, chunk: AudioChunk) -> None:
        pass

    @override
    def speaker(self, hypothesis: Hypothesis) -> str:
        return self.name

    @override
    def change(self, begin_s: float, end_s: float) -> Span | None:
        return None

    @override
    def rename(self, label: str, name: str) -> None:
        if label == self.name:
            self.name = name

    @override
    def pause(self) -> None:
        pass


class _Windows:
    """The embeddings of the windows of some sound, each of which begins `HOP` after the one before."""

    def __init__(self) -> None:
        self.embeddings: list[Embedding] = []
        #: The window with which another voice seems to begin.
        self.change: int | None = None


class _Segment(NamedTuple):
    #: Position of the first sample of an open segment.
    start: int
    voice: Voice | None = None


class VoiceListener(Listener):
    """Distinguishes voices by the embeddings of a segment's windows, which are computed only once.

    Args:
        state: The state of a new stream or of an earlier run.
        known: Enrolled voices of a new stream: name and embedding.
        most: Maximum number of voices.
    """

    def __init__(
        self,
        encoder: Encoder,
        state: VoicesState,
        most: int,
        known: Sequence[tuple[str, Embedding]] = (),
    ) -> None:
        self._encoder = encoder
        self._voices = Voices(state, encoder.threshold, most)
        # The state of an earlier run contains them, perhaps with other names by now.
        for name, embedding in () if state.voices else known:
            self._voices.enrol(name, embedding)
        # The newest sound, and the position of its first sample.
        self._sound = np.zeros(0, "<i2")
        self._origin = 0
        # Open segments by the recogniser's number; windows by the position of the first sample.
        self._open: dict[int, _Segment] = {}
        self._windows: dict[int, _Windows] = {}

    @property
    @override
    def state(self) -> VoicesState:
        return self._voices.state

    @override
    def hear(self, chunk: AudioChunk) -> None:
        position = round(chunk.start_s * SAMPLE_RATE)
        gap = position - self._end if abs(position - self._end) > _GAP else 0
        if not 0 <= gap <= _KEPT:
            self._sound, self._origin, gap = np.zeros(0, "<i2"), position, 0
            self._windows.clear()
        samples = np.frombuffer(chunk.pcm, "<i2", count=len(chunk.pcm) // 2)
        # At a gap the recogniser ends the segments before it, whose sound is still needed.
        self._sound = np.concatenate((self._sound, np.zeros(gap, "<i2"), samples))
        self._forget(self._end - _KEPT)

    @override
    def speaker(self, hypothesis: Hypothesis) -> str:
        number, is_final = hypothesis.segment, hypothesis.is_final
        if number not in self._open and not hypothesis.text.strip():
            return ""  # it may not be speech
        start, end = round(hypothesis.start_s * SAMPLE_RATE), round(hypothesis.end_s * SAMPLE_RATE)
        start, voice = self._open.pop(number, _Segment(start))
        if is_final and hypothesis.is_doubtful:
            self._voices.withdraw(voice)
            return ""
        end = min(end, self._end)
        if start < self._origin:
            start = max(self._origin, end - _KEPT // 2)
        embedding = self._embedding(start, end, is_over=is_final)
        if embedding is not None:
            assign = self._voices.assign if is_final else self._voices.guess
            voice = assign(embedding, (end - start) / SAMPLE_RATE, voice)
        if not is_final:
            self._open[number] = _Segment(start, voice)
        return "" if voice is None else voice.label

    @override
    def change(self, begin_s: float, end_s: float) -> Span | None:
        start, end = round(begin_s * SAMPLE_RATE), round(end_s * SAMPLE_RATE)
        if start < self._origin:
            return None
        windows = self._heard(start, min(end, self._end))
        if windows.change is None:
            return None
        moment_s = (start + windows.change * HOP) / SAMPLE_RATE
        return Span(moment_s - _EARLIER_S, moment_s + _LATER_S)

    @override
    def rename(self, label: str, name: str) -> None:
        self._voices.rename(label, name)

    @override
    def pause(self) -> None:
        self._open.clear()

    @property
    def _end(self) -> int:
        return self._origin + len(self._sound)

    def _embedding(self, start: int, end: int, *, is_over: bool) -> Embedding | None:
        """The mean embedding of a segment's windows; None for too little sound, or if the encoder fails."""
        # If a segment was cut, there may be windows after its end.
        windows = self._heard(start, end).embeddings[: max(0, (end - start - WINDOW) // HOP + 1)]
        covered = start + (len(windows) - 1) * HOP + WINDOW if windows else start
        if not windows or (is_over and end - covered > HOP // 2):
            if end - start < (_LEAST if is_over else _ENOUGH):
                return None
            windows = [*windows, self._encoder.embed(self._slice(max(start, end - WINDOW), end))]
        mean = _mean(windows)
        # Zeros, NaN and infinity would create a separate voice.
        return mean if 0 < float(np.linalg.norm(mean)) < np.inf else None

    def _heard(self, start: int, end: int) -> _Windows:
        """The windows between two positions; later ones may follow."""
        windows = self._windows.setdefault(start, _Windows())
        made = windows.embeddings
        while (begin := start + len(made) * HOP) + WINDOW <= end:
            made.append(self._encoder.embed(self._slice(begin, begin + WINDOW)))
            if windows.change is None and self._differs(made):
                windows.change = len(made) - 1
        return windows

    def _differs(self, windows: Sequence[Embedding]) -> bool:
        """Whether the newest window is of another voice than the earlier ones that do not overlap it."""
        before = windows[: -(WINDOW // HOP)][-_BEFORE:]
        alike = self._encoder.threshold(WINDOW / SAMPLE_RATE) - _CHANGE
        return bool(before) and float(_mean(before) @ windows[-1]) < alike

    def _slice(self, begin: int, end: int) -> Samples:
        kept = self._sound[max(0, begin - self._origin) : max(0, end - self._origin)]
        return kept.astype(np.float32) / np.float32(32_768)

    def _forget(self, position: int) -> None:
        drop = position - self._origin
        # Not at every chunk, because the rest is copied.
        if drop > SAMPLE_RATE:
            self._sound, self._origin = self._sound[drop:].copy(), position
            self._windows = {start: one for start, one in self._windows.items() if start >= position}


def embedded(encoder: Encoder, samples: Samples) -> Embedding:
    """The embedding of a recording of one voice."""
    starts = range(0, max(1, len(samples) - WINDOW + 1), HOP)
    windows = [encoder.embed(samples[start : start + WINDOW]) for start in starts]
    return _mean(windows)


def _mean(windows: Sequence[Embedding]) -> Embedding:
    """The mean of some embeddings, of length 1."""
    total: Embedding = np.sum(windows, axis=0, dtype=np.float32)
    return unit(total)


#: Makes the listener of a stream, given its name and its state.
MakeListener = Callable[[str, VoicesState], Listener]
