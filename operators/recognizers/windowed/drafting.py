"""The state of one stream between windows: the hypothesis that is the next draft, and its shown part.

A recogniser closes each window with a full stop, as if the sentence were over, and makes a word from half a
word. The next window revises both: of 885 last words half survived; of those to which the model itself gave
less than 0.3 one in fourteen, of those above 0.99 seven in eight (docs/scripts/moonshine_passes.py).
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import regex
from typing_extensions import override

from operators.decoding.conditioning import Conditioning
from operators.decoding.pieces import decode_pieces
from operators.events import SAMPLE_RATE
from operators.observed import SpeechCut
from operators.recognizers.part import Observe, RecognizerSettings
from operators.recognizers.windowed.method import SpeechMethod, WindowResult
from operators.recognizers.windowed.recognizer import Transcriber, WindowedRecognizer
from operators.recognizers.windowed.segmenter import Samples, SegmentRules, Window

_UNCLOSED = Conditioning(strip_punctuation=True)
# Scripts that put no space between words: there each token is one.
_UNSPACED = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")
_WORD = regex.compile(r"\w")


def steady_text(
    pieces: Sequence[bytes], probability: Callable[[int], float], least: float, shown: str = ""
) -> str:
    """The text of a window's tokens without words at its end that are less probable than ``least``.

    Args:
        pieces: The bytes of each token.
        probability: The model's probability of the token at a place; called only for those at the end.
        least: From 0, which removes only the closing punctuation.
        shown: The shown text of the window before; parts that are still the same are not taken back.
    """
    texts = decode_pieces(list(pieces))
    end = len(texts)
    while end and least and _probability(texts, probability, begin := _word_begin(texts, end), end) < least:
        end = begin
    whole = "".join(texts).strip()
    steady = _UNCLOSED.prepare("".join(texts[:end]).strip(), is_final=False)
    return shown if len(shown) > len(steady) and _starts_with(whole, shown) else steady


def _word_begin(texts: Sequence[str], end: int) -> int:
    """Where the last word before ``end`` begins; punctuation belongs to the word before it."""
    begin = end - 1
    while begin > 0 and not (texts[begin].startswith(" ") or _UNSPACED.match(texts[begin])):
        begin -= 1
    return begin


def _probability(texts: Sequence[str], probability: Callable[[int], float], begin: int, end: int) -> float:
    """The probability of a word's least probable token, not counting its punctuation."""
    return min((probability(n) for n in range(begin, end) if _WORD.search(texts[n])), default=0.0)


def _starts_with(text: str, shown: str) -> bool:
    """Whether a text begins with the words of another one."""
    return text.startswith(shown) and not _WORD.match(text[len(shown) : len(shown) + 1])


#: Minimum probability of the last word of an unfinished text; docs/recognition.md has the trade-off.
CERTAINTY = 0.7


class DraftingTranscriber(Transcriber):
    """Decodes the windows of one stream, each with the last hypothesis of its utterance as the draft.

    Args:
        method: How windows are decoded.
        certainty: Minimum probability of the last shown word of an unfinished text; 0 shows every word.
        observe: Told of each final that was cut.
    """

    #: When an utterance is over; None for the usual rules.
    rules: SegmentRules | None = None
    #: Smallest gap between two logits that passes over many tokens can distinguish; see `decode_speech`.
    margin: float

    def __init__(
        self,
        method: SpeechMethod,
        certainty: float = CERTAINTY,
        observe: Callable[[SpeechCut], None] = lambda _cut: None,
    ) -> None:
        self._method = method
        self._certainty = certainty
        self._observe = observe
        # An utterance begins without a draft, so that text from before a pause is not repeated.
        self._draft: tuple[int, ...] = ()
        self._shown = ""
        # Consecutive windows that were decoded only up to a doubtful word.
        self._stopped = 0

    @abstractmethod
    def encode(self, samples: Samples) -> Any:
        """The encoder's states of a window; their ``again()`` gives a copy without any decoder pass."""

    @abstractmethod
    def decode(
        self, method: SpeechMethod, encoded: Any, draft: tuple[int, ...], window: Window, stopped: int
    ) -> WindowResult:
        """Decode a window. Raises `ModelTrouble` if the model fails.

        ``stopped`` is the number of consecutive windows before it that ended at a doubtful word.
        """

    @abstractmethod
    def piece(self, token: int) -> bytes:
        """The bytes of a token."""

    @abstractmethod
    def text(self, tokens: Sequence[int]) -> str:
        """The text of a transcript."""

    @override
    def transcribe(self, window: Window) -> str:
        """The text of a window; that of the window before if the model is lost."""
        draft, shown, stopped = self._draft, self._shown, self._stopped
        if window.is_final:
            # Even if it fails, nothing of it remains for the next utterance.
            self._draft, self._shown, self._stopped = (), "", 0
        heard = self.decode(self._method, self.encode(window.samples), draft, window, stopped)
        if not heard.is_credible:
            return shown
        if window.is_final:
            if heard.is_cut:
                self._observe(_cut(len(window.samples) / SAMPLE_RATE))
            return self.text(heard.tokens)
        self._draft = heard.tokens
        self._stopped = 0 if heard.is_whole else stopped + 1
        self._shown = steady_text([*map(self.piece, heard.tokens)], heard.probability, self._certainty, shown)
        return self._shown


def recognizer_of(
    transcriber: DraftingTranscriber, settings: RecognizerSettings, observe: Observe
) -> WindowedRecognizer:
    """The recogniser of one stream."""
    interval_s = settings.update_interval_s
    return WindowedRecognizer(
        transcriber, update_interval_s=interval_s, observe=observe, rules=transcriber.rules
    )


def _cut(seconds: float) -> SpeechCut:
    return SpeechCut(
        f"the recogniser wrote more than {seconds:.1f} s of speech can hold, and its text was cut: words may "
        "be missing; check that the spoken language is that of --from"
    )
