"""Whisper (Radford et al. 2022) in CTranslate2, by faster-whisper, with a bias towards the last hypothesis.

CTranslate2 decodes forced tokens one by one, so a draft saves no time here, but it makes the text stable. One
pass verifies the draft, and its accepted part is the prefix of the next hypothesis. In silence, or if the
model is lost, Whisper writes common subtitle phrases or repeats itself. The paper's three criteria for this
are checked (section 4.5).
"""

import zlib
from collections.abc import Mapping, Sequence, Set
from itertools import takewhile
from time import monotonic, perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from operators.decoding.drive import Cost
from operators.decoding.speech import SpeechMethod, WindowResult, mean_log_probability
from operators.events import SAMPLE_RATE
from operators.extras import EXTRAS
from operators.languages import ENGLISH
from operators.notifications import RecognizerChanged
from operators.recognizers.drafting import DraftingTranscriber
from operators.recognizers.finding import FIRST_S, LATEST_S, LanguageFinder
from operators.recognizers.part import (
    USUAL,
    Observe,
    RecognizerPart,
    RecognizerSettings,
    Spoken,
    named_model,
    unobserved,
)
from operators.recognizers.protocol import Recognizer
from operators.recognizers.segmenter import RULES, SegmentRules, Window
from operators.recognizers.whisper_model import (
    MAX_TOKENS,
    States,
    WhisperModel,
    check_files,
    check_language,
    load_model,
)
from operators.recognizers.windowed import Transcriber, WindowedRecognizer

#: The model was trained on 30 s; two of these are the silence after the speech. Short utterances are worse:
#: tiny.en had a word error rate of 7.5 % with the usual pause of a quarter second, and 4.3 % with this one.
WHISPER_RULES = SegmentRules(pause_s=0.448, long_s=15.0, longest_s=28.0)
#: Tokens allowed for any transcript, and additional ones per second of speech. Text in a script that Whisper
#: spells byte by byte takes some ten tokens per second.
_MIN_TOKENS, _TOKENS_PER_S = 16, 20.0
#: Beam width for a final.
_BEAM = 5
#: A window has no speech if the model's probability of that is above the first, and the mean log probability
#: of the transcript's tokens is below the second.
_NO_SPEECH, _DOUBTFUL = 0.6, -1.0
#: A transcript with a higher compression ratio repeats itself. It is decoded again without repetition of as
#: many tokens as the second.
_COMPRESSION, _PHRASE = 2.4, 4
#: Number of tokens at the end of a hypothesis that depend on the newest sound.
_RECENT = 8
#: Maximum tokens of expected names, because each update evaluates them again.
_EXPECTED = 60
#: Seconds that hypotheses may lag behind the sound.
_LAG_S = 1.0


class WhisperTranscriber(DraftingTranscriber):
    """Transcribes one stream. Streams share the model.

    Args:
        code: Code of the spoken language.
    """

    def __init__(
        self,
        model: WhisperModel,
        code: str,
        settings: RecognizerSettings = USUAL,
        observe: Observe = unobserved,
    ) -> None:
        super().__init__(settings, observe)
        self._model = model
        self._words = ""
        self._pace: Pace | None = None
        self.speak(code)

    def speak(self, code: str) -> None:
        """Set the language of the following speech. Raises `UsageError` if the model does not support it."""
        self._code = code
        self._tokenizer = self._model.tokenizer(code)
        before = [self._tokenizer.sot_prev, *self._tokenizer.encode(self._words)[:_EXPECTED]]
        self._start = [*(before if self._words else ()), *self._tokenizer.sot_sequence]

    @property
    @override
    def rules(self) -> SegmentRules:
        return WHISPER_RULES

    @override
    def expect(self, words: Set[str]) -> None:
        """Put names into Whisper's prompt, which is preceding text; they are recognised more easily then."""
        names = sorted(word for word in words if word[:1].isupper())
        self._words = f" {' '.join(names)}" if names else ""
        self.speak(self._code)

    @override
    def keep_up(self) -> None:
        self._pace = Pace()

    @override
    def transcribe(self, window: Window) -> str | None:
        pace = self._pace
        if pace is None or not pace.is_behind(window.end / SAMPLE_RATE) or window.is_final:
            return super().transcribe(window)
        if pace.is_news:
            self._observe(
                RecognizerChanged(
                    "recognition is slower than real time, so captions come in larger steps: "
                    "choose a smaller model with --speech-model, or give it more cores"
                )
            )
        return self._shown

    @override
    def encode(self, window: Window) -> States:
        return self._model.encode(window.samples, window.is_final)

    @override
    def decode(
        self, method: SpeechMethod, encoded: States, draft: tuple[int, ...], window: Window, stopped: int
    ) -> WindowResult:
        kept: Sequence[int] = ()
        if method.use_draft and draft and not window.is_final:
            kept = self._still_said(encoded, draft, method.bias)
        how = {"beam_size": _BEAM} if window.is_final else {"beam_size": 1, "return_logits_vocab": True}
        heard = self._heard(encoded, kept, is_final=window.is_final, **how)
        if heard.is_credible:
            return heard
        # Decode again without the draft, which may be the cause, and without repeated phrases.
        return self._heard(encoded, (), is_final=window.is_final, no_repeat_ngram_size=_PHRASE, **how)

    def _still_said(self, encoded: States, draft: Sequence[int], bias: float) -> Sequence[int]:
        """The beginning of the last hypothesis that the bias towards it keeps.

        With bias beta, a draft token of probability P is the likeliest one if P (1 - beta) + beta is at least
        the biased probability of the best other token, which is assumed to have half of the rest. Older
        tokens need a quarter of that P, because new sound hardly affects them.
        """
        least = (1 - 3 * bias) / (3 * (1 - bias)) if bias < 1 else 0.0
        found = self._model.probabilities(encoded, self._start, draft)
        old = len(found) - _RECENT
        kept = sum(
            1 for _ in takewhile(lambda at: found[at] >= least / (4 if at < old else 1), range(len(found)))
        )
        # A short beginning may be the cause of the rejection.
        return draft[:kept] if 2 * kept >= len(draft) else ()

    def _heard(self, encoded: States, kept: Sequence[int], *, is_final: bool, **how: Any) -> WindowResult:
        limit = min(MAX_TOKENS, _MIN_TOKENS + round(_TOKENS_PER_S * encoded.speech_s))
        prompt = [*self._start, self._tokenizer.no_timestamps]
        began = perf_counter()
        # The library treats kept tokens as prompt, and forbids an end directly after the prompt by default.
        result = self._model.generate(encoded, [*prompt, *kept], limit, suppress_blank=not kept, **how)
        took_s = perf_counter() - began
        tokens = tuple(result.sequences_ids[0])
        rows = result.logits[0] if result.logits else ()

        def probability(place: int) -> float:
            return _softmax(np.asarray(rows[place]), tokens[place])

        is_speech = result.no_speech_prob <= _NO_SPEECH or (
            result.scores[0] >= _DOUBTFUL
            if is_final
            else mean_log_probability([*map(probability, range(len(tokens)))]) >= _DOUBTFUL
        )
        repeats = compression(self.text(tokens)) > _COMPRESSION
        return WindowResult(
            tokens,
            probability,
            Cost(passes=len(tokens) + 1, evaluated=len(prompt) + len(tokens), model_s=took_s),
            is_whole=True,
            is_cut=len(tokens) >= limit,
            is_credible=not repeats and (is_final or is_speech),
            is_doubtful=not is_speech,
        )

    @override
    def piece(self, token: int) -> bytes:
        return self._model.piece(token)

    @override
    def text(self, tokens: Sequence[int]) -> str:
        # The replacement character stands for a character whose last bytes are in later tokens.
        return b"".join(map(self.piece, tokens)).decode("utf-8", "replace").rstrip("\ufffd").strip()


def compression(text: str) -> float:
    """The compression ratio of a text; short texts do not compress."""
    data = text.encode()
    return len(data) / len(zlib.compress(data))


def _softmax(row: NDArray[np.float32], token: int) -> float:
    top = row.max()
    return float(np.exp(row[token] - top) / np.exp(row - top).sum())


class Pace:
    """Whether a stream's hypotheses lag behind: its sound is processed slower than real time."""

    def __init__(self) -> None:
        #: The smallest distance of the clock to the sound so far.
        self._least = np.inf
        self._last_s = 0.0
        self._reported = False

    def is_behind(self, heard_s: float, now_s: float | None = None) -> bool:
        """Update with the position in the sound, and return whether it lags.

        Args:
            heard_s: Seconds of sound; fewer than before if the sound begins again.
            now_s: Seconds of any clock; by default the process's.
        """
        distance = (monotonic() if now_s is None else now_s) - heard_s
        self._least = distance if heard_s < self._last_s else min(self._least, distance)
        self._last_s = heard_s
        return distance - self._least > _LAG_S

    @property
    def is_news(self) -> bool:
        """True at the first call."""
        reported, self._reported = self._reported, True
        return not reported


class FindingTranscriber(Transcriber):
    """Detects the language of each utterance, and passes it to a transcriber for that language.

    Args:
        model: Detects the languages.
        usual: Transcribes languages that are not in ``own``.
        expected: The languages that may be spoken; none for any.
        own: Transcribers of some languages, by code.
    """

    def __init__(
        self, model: WhisperModel, usual: WhisperTranscriber, expected: Spoken, own: Mapping[str, Transcriber]
    ) -> None:
        self._model = model
        self._usual = usual
        self._own = own
        self._finder = LanguageFinder(expected)
        # The utterance whose language is known, its transcriber, and the one of the utterance before.
        self._segment = -1
        self._chosen: Transcriber | None = None
        self._last: Transcriber | None = None

    @property
    @override
    def rules(self) -> SegmentRules:
        return RULES if self._chosen is None else self._chosen.rules

    @override
    def expect(self, words: Set[str]) -> None:
        for one in (self._usual, *self._own.values()):
            one.expect(words)

    @override
    def keep_up(self) -> None:
        self._usual.keep_up()

    @override
    def transcribe(self, window: Window) -> str | None:
        if window.segment != self._segment:
            self._segment, self._chosen, self.language = window.segment, None, ""
        if self._chosen is None:
            voiced_s = _voiced_s(window)
            if voiced_s < FIRST_S and not window.is_final:
                return ""
            found = self._model.languages(self._model.encode(window.samples))
            code = self._finder.hear(found, voiced_s, is_last=window.is_final)
            if code is None:
                return ""
            self.language = code
            self._chosen = self._own.get(code) or self._usual
            if self._chosen is self._usual:
                self._usual.speak(code)
        text = self._chosen.transcribe(window)
        if window.is_final:
            self._last, self._segment, self._chosen = self._chosen, -1, None
        return text

    @override
    def again(self, window: Window) -> str | None:
        """Transcribe a doubtful final of ``own`` again; it may be in another language.

        The language is detected again from the whole utterance, unless it is only a word or two.
        """
        if self._last is self._usual:
            return None
        voiced_s = _voiced_s(window)
        if voiced_s >= LATEST_S:
            found = self._model.languages(self._model.encode(window.samples))
            self.language = self._finder.hear(found, voiced_s, is_last=True) or self.language
        self._usual.speak(self.language)
        return self._usual.transcribe(window)


def _voiced_s(window: Window) -> float:
    return len(window.samples) / SAMPLE_RATE - RULES.before_s


def finding_recognizer(
    settings: RecognizerSettings, spoken: Spoken, observe: Observe, own: Mapping[str, Transcriber]
) -> WindowedRecognizer:
    """A recogniser of one stream that detects which of ``spoken``, or of all languages, is spoken."""
    model = load_model(str(named_model(settings).absolute()), settings.usual_threads)
    usual = WhisperTranscriber(model, (spoken or (ENGLISH,))[0].base, settings, observe)
    return WindowedRecognizer(FindingTranscriber(model, usual, spoken, own), settings, observe)


def whisper_recognizer(
    settings: RecognizerSettings, spoken: Spoken = (ENGLISH,), observe: Observe = unobserved
) -> Recognizer:
    """A recogniser of one stream; its model's folder is in CTranslate2's format.

    Raises:
        UsageError: if the model does not support the language, or the extra is not installed.
        InputError: if the folder does not contain such a model.
    """
    if len(spoken) != 1:
        return finding_recognizer(settings, spoken, observe, {})
    model = load_model(str(named_model(settings).absolute()), settings.usual_threads)
    return WindowedRecognizer(WhisperTranscriber(model, spoken[0].base, settings, observe), settings, observe)


def check_whisper(settings: RecognizerSettings, spoken: Spoken, _is_live: bool) -> None:
    """Raise `InputError` for a folder without a Whisper model, `UsageError` for a language it lacks."""
    folder = named_model(settings)
    check_files(folder)
    for one in spoken or (None,):
        check_language(folder, one)
    if len(spoken) > 1:
        check_language(folder, None)


part = RecognizerPart(
    "whisper", whisper_recognizer, check=check_whisper, extra=EXTRAS["whisper"], is_windowed=True,
    is_multilingual=True, finds_language=True,
)  # fmt: skip
