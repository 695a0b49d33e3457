"""Online speaker diarization: each stretch of speech is assigned to the nearest voice, or to a new one.

The centroid of a voice is updated with each assignment. Two voices that become too similar are merged.
"""

from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import msgspec
import numpy as np

from operators.voices.protocol import Embedding


class Voice(msgspec.Struct, array_like=True):
    """One speaker of a stream."""

    #: The sum of the embeddings, each times its seconds: float32, little-endian.
    total: bytes
    #: Seconds of the speech that was assigned to it.
    seconds: float
    #: A name, or a number as text.
    label: str

    @property
    def centroid(self) -> Embedding:
        """The mean of its embeddings, of length 1."""
        return unit(np.frombuffer(self.total, "<f4"))


class VoicesState(msgspec.Struct, array_like=True):
    """The voices of a stream; small, and all that a snapshot needs."""

    voices: list[Voice] = []
    #: Number of voices that got a number so far.
    numbered: int = 0
    #: Label of the voice that spoke last.
    last: str = ""
    #: The sum of consecutive similar brief stretches that belong to no voice.
    stranger: Voice | None = None


class Rules(NamedTuple):
    """When a stretch is assigned to a voice; seconds include the silence around it."""

    #: Minimum length of a stretch that creates a new voice.
    new_s: float = 2.4
    #: Consecutive stretches that seem new are assigned to a voice up to this far below its threshold.
    strange: float = 0.1
    #: Minimum margin above the threshold before the stretch is over.
    sure: float = 0.04
    #: A brief stretch is assigned to the last voice up to this far below its threshold.
    stays: float = 0.1
    #: Maximum length of a brief stretch.
    brief_s: float = 1.2
    #: A recording for enrolment counts as this long, because its room and microphone are others.
    known_s: float = 2.0
    #: If two voices speak at once: the minimum margin of the product with their sum above the threshold, the
    #: minimum share of either, and the number of nearest voices that are tried.
    both: float = 0.02
    share: float = 0.15
    pairs: int = 8
    #: Minimum product of two centroids that are merged, and the seconds that each needs. Two men at one table
    #: had 0.87.
    same: float = 0.9
    same_s: float = 4.0


RULES = Rules()


def unit(vector: Embedding) -> Embedding:
    """The vector with length 1; zeros stay."""
    length = float(np.linalg.norm(vector))
    return vector / np.float32(length) if length else vector


class Voices:
    """The voices of one stream.

    Args:
        threshold: The threshold of the `Encoder`.
        most: Maximum number of voices.
    """

    def __init__(
        self, state: VoicesState, threshold: Callable[[float], float], most: int, rules: Rules = RULES
    ) -> None:
        self.state = state
        self._threshold = threshold
        self._most = most
        self._rules = rules

    def guess(self, embedding: Embedding, seconds: float, guessed: Voice | None = None) -> Voice | None:
        """The voice of an unfinished stretch, if it is certain; may create a voice.

        Args:
            guessed: The last guess for this stretch, which stays until another voice is certain.
        """
        nearest, margin = self._nearest(embedding, seconds)
        if nearest is not None and margin >= self._rules.sure:
            self.withdraw(guessed, nearest)
            return nearest
        is_new = nearest is None or margin < -self._rules.sure
        if is_new and self._may_be_new(seconds):
            voice = self._louder(embedding, seconds) or self._new(embedding, guessed)
            self.withdraw(guessed, voice)
            return voice
        return guessed

    def assign(self, embedding: Embedding, seconds: float, guessed: Voice | None = None) -> Voice | None:
        """The voice of a finished stretch, which is updated with it; None if it belongs to no voice.

        Args:
            guessed: The last result of `guess` for it.
        """
        voice, margin = self._nearest(embedding, seconds)
        if margin < 0:
            voice = self._else(voice, embedding, seconds, guessed)
        self.withdraw(guessed, voice)
        if voice is None:
            return None
        self.state.stranger = None
        # A stretch below the threshold of a voice would blur its centroid.
        if margin >= 0 or not voice.seconds:
            self._learn(voice, embedding, seconds)
            voice = self._merged(voice)
        self.state.last = voice.label
        return voice

    def withdraw(self, guessed: Voice | None, voice: Voice | None = None) -> None:
        """Remove a voice that was only guessed for a stretch, which belongs to ``voice`` or to none."""
        if guessed is not None and guessed is not voice and self._is_only_guessed(guessed):
            self.state.voices.remove(guessed)

    def rename(self, label: str, name: str) -> None:
        """Name a voice from now on; it is merged with a voice that has this name already."""
        state = self.state
        voice, other = self._labelled(label), self._labelled(name)
        if voice is None or voice is other:
            return
        if state.last == label:
            state.last = name
        voice.label = name
        if other is not None:
            self._fold(other, voice)

    def enrol(self, name: str, embedding: Embedding) -> None:
        """Add a voice that is known before it speaks; an existing voice with this name is not changed."""
        if self._labelled(name) is None:
            voice = Voice(b"", 0.0, name)
            self._learn(voice, embedding, self._rules.known_s)
            self.state.voices.append(voice)

    def _else(
        self, nearest: Voice | None, embedding: Embedding, seconds: float, guessed: Voice | None
    ) -> Voice | None:
        """The voice of a stretch that is below all thresholds."""
        if self._may_be_new(seconds):
            return self._louder(embedding, seconds) or self._new(embedding, guessed)
        if len(self.state.voices) >= self._most:
            return nearest
        last = self._labelled(self.state.last)
        if last is not None and self._stays(last, embedding, seconds):
            return last
        return self._met(embedding, seconds)

    def _stays(self, last: Voice, embedding: Embedding, seconds: float) -> bool:
        """Whether a brief stretch may be of the voice that spoke last."""
        return seconds < self._rules.brief_s and self._margin(last, embedding, seconds) >= -self._rules.stays

    def _met(self, embedding: Embedding, seconds: float) -> Voice | None:
        """A new voice, if consecutive brief stretches are similar and together long enough."""
        state, stranger = self.state, self.state.stranger
        if stranger is None or self._margin(stranger, embedding, seconds) < 0:
            state.stranger = stranger = Voice(b"", 0.0, "")
        self._learn(stranger, embedding, seconds)
        if stranger.seconds < self._rules.new_s:
            return None
        # Together the stretches are more certain than each alone.
        voice, margin = self._nearest(stranger.centroid, stranger.seconds)
        return voice if voice is not None and margin >= -self._rules.strange else self._numbered(stranger)

    def _is_only_guessed(self, voice: Voice) -> bool:
        return not voice.seconds and voice in self.state.voices

    def _louder(self, embedding: Embedding, seconds: float) -> Voice | None:
        """The louder of two simultaneous voices, if their sum is as near as one voice would have to be."""
        rules, best, louder = self._rules, self._threshold(seconds) + self._rules.both, None
        heard = [voice for voice in self.state.voices if voice.seconds >= rules.same_s]
        heard.sort(key=lambda voice: self._margin(voice, embedding, seconds))
        for one, other in combinations(heard[-rules.pairs :], 2):
            centroids = np.stack((one.centroid, other.centroid), axis=1)
            shares = np.linalg.lstsq(centroids, embedding)[0]
            near = float(np.linalg.norm(centroids @ shares))
            if near >= best and shares.min() >= rules.share:
                best, louder = near, one if shares[0] >= shares[1] else other
        return louder

    def _may_be_new(self, seconds: float) -> bool:
        return seconds >= self._rules.new_s and len(self.state.voices) < self._most

    def _nearest(self, embedding: Embedding, seconds: float) -> tuple[Voice | None, float]:
        """The voice that is farthest above its threshold, and how far that is."""
        margins = [(self._margin(voice, embedding, seconds), voice) for voice in self.state.voices]
        margin, voice = max(margins, key=lambda one: one[0], default=(-1.0, None))
        return voice, margin

    def _margin(self, voice: Voice, embedding: Embedding, seconds: float) -> float:
        # A voice with little speech is as uncertain as a brief stretch.
        heard_s = voice.seconds or seconds
        return float(voice.centroid @ embedding) - self._threshold(min(seconds, heard_s))

    def _labelled(self, label: str) -> Voice | None:
        return next((voice for voice in self.state.voices if voice.label == label), None)

    def _new(self, embedding: Embedding, guessed: Voice | None) -> Voice:
        total = embedding.astype("<f4").tobytes()
        if guessed is None or not self._is_only_guessed(guessed):
            return self._numbered(Voice(total, 0.0, ""))
        # The guessed voice is kept, because its label was shown.
        guessed.total = total
        return guessed

    def _numbered(self, voice: Voice) -> Voice:
        self.state.numbered += 1
        voice.label = str(self.state.numbered)
        self.state.voices.append(voice)
        return voice

    def _learn(self, voice: Voice, embedding: Embedding, seconds: float) -> None:
        added = embedding * np.float32(seconds)
        total = np.frombuffer(voice.total, "<f4") + added if voice.seconds else added
        voice.total, voice.seconds = total.astype("<f4").tobytes(), voice.seconds + seconds

    def _merged(self, voice: Voice) -> Voice:
        """The voice, or the one with which it was merged."""
        rules = self._rules
        for other in self.state.voices:
            if other is voice or min(other.seconds, voice.seconds) < rules.same_s:
                continue
            are_named = not (other.label.isdecimal() or voice.label.isdecimal())
            if not are_named and float(other.centroid @ voice.centroid) >= rules.same:
                kept, gone = (voice, other) if _precedes(voice, other) else (other, voice)
                self._fold(kept, gone)
                return kept
        return voice

    def _fold(self, kept: Voice, gone: Voice) -> None:
        kept.total = (np.frombuffer(kept.total, "<f4") + np.frombuffer(gone.total, "<f4")).tobytes()
        kept.seconds += gone.seconds
        self.state.voices.remove(gone)


def _precedes(one: Voice, other: Voice) -> bool:
    """Whether the label of the first voice is kept: a name, or the lower number."""
    if not (one.label.isdecimal() and other.label.isdecimal()):
        return not one.label.isdecimal()
    return int(one.label) < int(other.label)
