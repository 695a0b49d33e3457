"""Transcribers that decode the whole utterance at each window, with their last hypothesis as the draft."""

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import islice, takewhile
from typing import Any

from typing_extensions import override

from operators.decoding.forward import Logits
from operators.decoding.speech import SpeechMethod, WindowResult, steady_text
from operators.events import SAMPLE_RATE
from operators.notifications import SpeechCut
from operators.recognizers.part import USUAL, Observe, RecognizerSettings, unobserved
from operators.recognizers.segmenter import Window
from operators.recognizers.windowed import Transcriber


class DraftingTranscriber(Transcriber):
    """Transcribes one stream.

    Args:
        observe: Gets each final that was cut.
    """

    #: Smallest gap between two logits that passes over many tokens can distinguish; see `hear`.
    margin = 0.0

    def __init__(self, settings: RecognizerSettings = USUAL, observe: Observe = unobserved) -> None:
        #: Partials end early with words that are not shown.
        self.method = SpeechMethod(bias=settings.bias, stop_below=settings.certainty)
        self._settings = settings
        self._observe = observe
        # An utterance begins without a draft, to avoid repeating text from before a pause.
        self._draft: tuple[int, ...] = ()
        self._shown = ""
        # Consecutive windows that were decoded only up to a doubtful word.
        self._stopped = 0

    @abstractmethod
    def encode(self, window: Window) -> Any:
        """The encoder's states of a window; their ``again()`` gives a copy with an empty KV cache."""

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
    def transcribe(self, window: Window) -> str | None:
        """The text of a window, or of the one before if the model is lost; None for a doubtful final."""
        draft, shown, stopped = self._draft, self._shown, self._stopped
        if window.is_final:
            # Even if decoding fails, the next utterance starts without a draft.
            self._draft, self._shown, self._stopped = (), "", 0
        heard = self.decode(self.method, self.encode(window), draft, window, stopped)
        if not heard.is_credible:
            return shown
        if window.is_final:
            if heard.is_doubtful:
                return None
            if heard.is_cut:
                seconds = len(window.samples) / SAMPLE_RATE
                self._observe(
                    SpeechCut(
                        f"the recogniser wrote more text than {seconds:.1f} s of speech can contain, and it "
                        "was cut: words may be missing; check that the spoken language is that of --from"
                    )
                )
            return self.text(heard.tokens)
        self._draft = heard.tokens
        self._stopped = 0 if heard.is_whole else stopped + 1
        pieces = [*map(self.piece, heard.tokens)]
        self._shown = steady_text(pieces, heard.probability, self._settings.certainty, shown)
        return self._shown


#: The logit bias in nats; 8e8a84cd:docs/glossary.md reports its effect.
_NATS = 4.0
#: Minimum letters of a name; shorter words are guessed too easily.
_LEAST = 4
#: A beginning that more names share gets no bias.
_MOST = 20


class NameBias:
    """A logit bias towards expected names, such as those of a glossary.

    If the beginning of a word is that of a name, the logits of the tokens that may continue the name are
    raised (contextual biasing; Pundak et al. 2018). The model has to begin the word without a bias, so it
    finds a name only in speech that sounds similar.

    Args:
        names: The names; one that is a single token gets no bias, because the model contains it already.
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
