"""Where utterances begin and end, and the growing window of audio that each of them is recognised from.

A pause ends an utterance. One that goes on for long ends at a shorter pause, and in the end at the quietest
moment: a window is never longer than a speech model was trained on, and a word is cut only if somebody speaks
for seconds without the slightest pause.
"""

from collections import deque
from typing import NamedTuple

import msgspec
import numpy as np

from operators.events import SAMPLE_RATE
from operators.recognizers.voice import HOP, Samples, VoiceDetector


class SegmentRules(msgspec.Struct, frozen=True, kw_only=True):
    """When an utterance is over; times in seconds."""

    #: Mean probability of speech above which somebody speaks.
    threshold: float = 0.5
    #: Time over which the mean is taken; half of it in silence is a pause.
    smoothing_s: float = 0.512
    #: Audio before the detection that belongs to the utterance.
    look_back_s: float = 0.512
    #: Length from which on a shorter pause ends the utterance, and the time of the mean from there on.
    long_s: float = 9.0
    short_smoothing_s: float = 0.192
    #: Longest window.
    longest_s: float = 15.0


class Window(NamedTuple):
    """All that was heard of one utterance."""

    #: Number of the utterance, from 0.
    segment: int
    #: Position of its first sample in the stream.
    start: int
    samples: Samples
    #: Whether the utterance is over.
    is_final: bool


class Segmenter:
    """Cuts one stream into utterances; what it gives depends on the audio only, not on its chunks.

    :arg detect: The voice detector.
    :arg interval_s: Seconds between two windows of an utterance.
    :arg rules: When an utterance is over.
    """

    def __init__(self, detect: VoiceDetector, interval_s: float, rules: SegmentRules | None = None) -> None:
        rules = rules or SegmentRules()
        self._detect = detect
        self._rules = rules
        self._interval = round(interval_s * SAMPLE_RATE)
        self._look_back = round(rules.look_back_s * SAMPLE_RATE)
        self._audio: Samples = np.zeros(0, np.float32)
        #: Positions: of the first sample that is kept, and of the first that the detector has not heard.
        self._origin = self._heard = 0
        smoothing = round(rules.smoothing_s * SAMPLE_RATE / HOP)
        self._recent: deque[float] = deque([0.0] * smoothing, maxlen=smoothing)
        #: The probability of each hop of the open utterance.
        self._voiced: list[float] = []
        self._segment = 0
        self._begin: int | None = None
        self._end = 0
        self._due = 0

    @property
    def position(self) -> int:
        """Samples that came in so far."""
        return self._origin + len(self._audio)

    def accept(self, samples: Samples) -> list[Window]:
        """Hear more audio: windows that are due of the open utterance, and the last of each that ended."""
        self._audio = np.concatenate((self._audio, samples))
        windows: list[Window] = []
        while self.position - self._heard >= HOP:
            probability = self._detect(self._slice(self._heard, self._heard + HOP))
            self._heard += HOP
            self._recent.append(probability)
            windows += self._hop(probability)
        self._forget()
        return windows

    def finish(self) -> list[Window]:
        """Hear that the audio is over: the last window of the open utterance."""
        if self._begin is None:
            return []
        return [self._close(self.position)]

    def _hop(self, probability: float) -> list[Window]:
        if self._begin is None:
            if self._mean(len(self._recent)) > self._rules.threshold:
                self._open(max(self._end, self._heard - self._look_back))
            return []
        self._voiced.append(probability)
        length_s = (self._heard - self._begin) / SAMPLE_RATE
        if self._is_pause(length_s):
            return [self._close(self._heard)]
        if length_s >= self._rules.longest_s:
            cut = self._quietest()
            last = self._close(cut)
            self._open(cut)
            return [last]
        if self._heard >= self._due:
            self._due = self._heard + self._interval
            return [Window(self._segment, self._begin, self._slice(self._begin, self._heard), False)]
        return []

    def _is_pause(self, length_s: float) -> bool:
        hops = len(self._recent)
        if length_s >= self._rules.long_s:
            hops = min(hops, round(self._rules.short_smoothing_s * SAMPLE_RATE / HOP))
        return self._mean(hops) <= self._rules.threshold

    def _mean(self, hops: int) -> float:
        """Mean probability of the last hops."""
        return sum(self._recent[-1 - back] for back in range(hops)) / hops

    def _quietest(self) -> int:
        """Position of the hop in the last third of the window in which speech is least probable."""
        begin = len(self._voiced) * 2 // 3
        quiet = min(range(begin, len(self._voiced)), key=lambda hop: (self._voiced[hop], -hop))
        return self._heard - (len(self._voiced) - 1 - quiet) * HOP

    def _open(self, begin: int) -> None:
        self._begin = begin
        self._voiced = []
        # The look-back is not heard yet as far as the first window goes: less than half a second of speech
        # is a guess.
        self._due = max(self._heard, begin + self._look_back) + self._interval

    def _close(self, end: int) -> Window:
        assert self._begin is not None, "only an open utterance ends"
        window = Window(self._segment, self._begin, self._slice(self._begin, end), True)
        self._segment += 1
        self._begin, self._end = None, end
        # What was heard before the end does not open the next utterance.
        self._recent.extend([0.0] * len(self._recent))
        return window

    def _slice(self, begin: int, end: int) -> Samples:
        return self._audio[begin - self._origin : end - self._origin]

    def _forget(self) -> None:
        needed = self._heard - self._look_back if self._begin is None else self._begin
        drop = max(0, min(needed, self._heard) - self._origin)
        if drop:
            self._audio = self._audio[drop:].copy()
            self._origin += drop
