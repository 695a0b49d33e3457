"""How windows of speech are decoded: the last hypothesis is the draft of the next.

A recogniser of growing windows decodes the whole utterance again at each update, just as re-translation does.
So it uses the same generators of forward passes (SSBD; Zeng et al., section 3). Partials are biased towards
the last hypothesis; the final is that of greedy decoding. `DraftingTranscriber` does so for one stream.
"""

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence, Set
from threading import Event
from typing import Any, NamedTuple

import msgspec
import numpy as np
import regex

from operators.decoding.acceptance import BiasedAcceptance
from operators.decoding.conditioning import Conditioning
from operators.decoding.drive import Cost, drive
from operators.decoding.forward import Method, Session, Task
from operators.decoding.greedy import retranslate
from operators.decoding.pass_cost import BlockLength, PassCosts
from operators.decoding.pieces import Piece, decode_pieces
from operators.decoding.recycling import recycling
from operators.decoding.session import KvCache, PrefixSession
from operators.decoding.speech import Certainty, Closing, Doubt, certain, until_doubtful
from operators.decoding.ssbd import ssbd
from operators.events import SAMPLE_RATE
from operators.languages import UNSPACED
from operators.notifications import SpeechCut
from operators.recognizers.part import USUAL, RecognizerSettings
from operators.recognizers.windowed.expected import Expected, Leaning
from operators.recognizers.windowed.segmenter import Samples, SegmentRules, Window
from operators.trouble import Trouble

#: Windows in a row that may end early.
_MAX_STOPPED = 2
_WORD = regex.compile(r"\w")
_log = logging.getLogger(__name__)
# Whether it was said that a text was left out.
_told = Event()


class SpeechMethod(msgspec.Struct, frozen=True, kw_only=True):
    """A way to decode windows."""

    #: Whether the last hypothesis is the draft; without it, each window is decoded from scratch.
    use_draft: bool = True
    #: Beta of partials: the bias towards the last hypothesis.
    bias: float = USUAL.bias
    #: A partial may end with its first less probable new word, which would not be shown: the next update
    #: knows more. 0 decodes every window to its end.
    stop_below: float = 0.0


def method_of(settings: RecognizerSettings) -> SpeechMethod:
    """The way that the settings describe: partials end early with words that are not shown."""
    return SpeechMethod(bias=settings.bias, stop_below=settings.certainty)


class WindowResult(NamedTuple):
    """The result of decoding a window."""

    tokens: tuple[int, ...]
    #: The model's own probability of the token at a place.
    probability: Callable[[int], float]
    cost: Cost
    #: Whether the whole window was decoded, not only up to a doubtful word.
    is_whole: bool
    #: Whether it was cut at its limit.
    is_cut: bool = False
    #: Whether it may be shown; otherwise the model is lost.
    is_credible: bool = True
    #: Whether its words are probably invented: the speech is no speech, or in another language.
    is_doubtful: bool = False

    @property
    def mean_log_probability(self) -> float:
        """The mean log probability of the tokens; 0 without tokens."""
        return mean_log_probability([self.probability(place) for place in range(len(self.tokens))])


def mean_log_probability(probabilities: Sequence[float]) -> float:
    """The mean of the logarithms; 0 without probabilities."""
    return float(np.mean(np.log(np.maximum(probabilities, 1e-30)))) if probabilities else 0.0


def hear(
    method: SpeechMethod,
    task: Task,
    cache: KvCache,
    *,
    margin: float,
    costs: PassCosts,
    doubt: Doubt | None = None,
    expected: Expected | None = None,
) -> WindowResult:
    """Decode one window.

    Args:
        cache: Holds the window's encoder states.
        margin: Smallest gap between two logits that passes over many tokens can distinguish; see `certain`.
        costs: The cost of the model's passes, against which drafts after a divergence are weighed.
        doubt: Where it may end early.
        expected: The words to lean towards.

    Raises:
        ModelTrouble: if the model fails.
    """
    inner: Session = PrefixSession(cache)
    # A name that is expected is not doubted either.
    session = Certainty(inner if expected is None else Leaning(inner, expected, len(task.prompt)))
    decoded, cost = drive(_decoding(method, task, session, margin, costs, doubt), session)
    return WindowResult(
        decoded.tokens,
        lambda place: session.of(len(task.prompt) + place, decoded.tokens[place]),
        cost,
        decoded.is_whole,
        decoded.cut is Trouble.LONG_ANSWER,
    )


def _decoding(
    method: SpeechMethod,
    task: Task,
    certainty: Certainty,
    margin: float,
    costs: PassCosts,
    doubt: Doubt | None,
) -> Method:
    if not method.use_draft:
        return retranslate(task)
    if task.is_final:
        return certain(task, margin)
    others = recycling(task, BlockLength(costs)), Closing(task)
    decoding = ssbd(task, BiasedAcceptance(method.bias), None, *others)
    return decoding if doubt is None else until_doubtful(decoding, task, doubt, certainty.of)


def doubt_of(method: SpeechMethod, draft: Sequence[int], stopped: int, piece: Piece) -> Doubt | None:
    """Where a window may end early: after the last hypothesis ``draft``; None if it may not.

    Args:
        stopped: How many windows before it did. Speech that stays doubtful is not hidden any longer.
        piece: The bytes of a token.
    """
    if not method.stop_below or stopped >= _MAX_STOPPED:
        return None

    def is_word(token: int) -> bool:
        return _WORD.search(piece(token).decode("utf-8", "replace")) is not None

    heard = len(draft)
    while heard and not is_word(draft[heard - 1]):
        heard -= 1
    # An utterance continues after its first token, however doubtful: otherwise nothing would be shown.
    return Doubt(method.stop_below, max(heard, 1), is_word)


_UNCLOSED = Conditioning(strip_punctuation=True)
# Scripts that put no space between words: there each token is one.
_UNSPACED = regex.compile(f"[{UNSPACED}]")


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


class DraftingTranscriber(ABC):
    """Decodes the windows of one stream, each with the last hypothesis of its utterance as the draft.

    Args:
        method: How windows are decoded.
        certainty: Minimum probability of the last shown word of an unfinished text; 0 shows every word.
        observe: Told of each final that was cut or left out.
    """

    #: When an utterance is over; None for the usual rules.
    rules: SegmentRules | None = None
    #: Smallest gap between two logits that passes over many tokens can distinguish; see `hear`.
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

    def expect(self, words: Set[str]) -> None:  # noqa: B027 - not every engine can
        """Lean towards these words."""

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

    def transcribe(self, window: Window) -> str | None:
        """The text of a window; that of the window before if the model is lost; None for a doubtful final.

        Raises `ModelTrouble` if the model fails.
        """
        draft, shown, stopped = self._draft, self._shown, self._stopped
        if window.is_final:
            # Even if it fails, nothing of it remains for the next utterance.
            self._draft, self._shown, self._stopped = (), "", 0
        heard = self.decode(self._method, self.encode(window.samples), draft, window, stopped)
        if not heard.is_credible:
            return shown
        if window.is_final:
            seconds = len(window.samples) / SAMPLE_RATE
            if heard.is_doubtful:
                _tell_doubt(seconds)
                return None
            if heard.is_cut:
                self._observe(_cut(seconds))
            return self.text(heard.tokens)
        self._draft = heard.tokens
        self._stopped = 0 if heard.is_whole else stopped + 1
        self._shown = steady_text([*map(self.piece, heard.tokens)], heard.probability, self._certainty, shown)
        return self._shown


def _cut(seconds: float) -> SpeechCut:
    return SpeechCut(
        f"the recogniser wrote more than {seconds:.1f} s of speech can hold, and its text was cut: words may "
        "be missing; check that the spoken language is that of --from"
    )


def _tell_doubt(seconds: float) -> None:
    """Say the first time that a text is left out."""
    if _told.is_set():
        return
    _told.set()
    sentence = (
        f"the recogniser doubts what it wrote for {seconds:.1f} s of sound, which is left out: perhaps it is "
        "no speech, or in another language than that of --from; further cases are left out without a message"
    )
    _log.warning("%s", sentence, extra={"event": "speech_doubted"})
