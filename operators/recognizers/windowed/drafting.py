"""The state of one stream between windows: the hypothesis that is the next draft, and its shown part."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from typing_extensions import override

from operators.events import SAMPLE_RATE
from operators.observed import SpeechCut
from operators.recognizers.part import Observe, RecognizerSettings
from operators.recognizers.windowed.method import Heard, SpeechMethod
from operators.recognizers.windowed.recognizer import Transcriber, WindowedRecognizer
from operators.recognizers.windowed.segmenter import SegmentRules, Window
from operators.recognizers.windowed.steady import steady_text
from operators.recognizers.windowed.voice import Samples

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
    ) -> Heard:
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
