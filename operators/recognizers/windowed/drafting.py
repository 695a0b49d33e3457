"""The state of one stream between windows: the hypothesis that is the next draft, and its shown part."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

from typing_extensions import override

from operators.events import SAMPLE_RATE
from operators.observed import SpeechCut
from operators.recognizers.windowed.recognizer import Transcriber
from operators.recognizers.windowed.segmenter import Window
from operators.recognizers.windowed.steady import steady_text

#: Minimum probability of the last word of an unfinished text; docs/recognition.md has the trade-off.
CERTAINTY = 0.7


class Transcript(NamedTuple):
    """A model's result for a window."""

    tokens: tuple[int, ...]
    text: str
    #: The bytes of each token, and the model's probability of the token at a place.
    pieces: Sequence[bytes]
    probability: Callable[[int], float]
    #: Whether the whole window was decoded, not only up to a doubtful word.
    is_whole: bool = True
    #: Whether the model did not end it, so that it was cut.
    is_cut: bool = False


class DraftingTranscriber(Transcriber):
    """Decodes the windows of one stream, each with the last hypothesis of its utterance as the draft.

    Args:
        certainty: Minimum probability of the last shown word of an unfinished text; 0 shows every word.
        observe: Told of each final that was cut.
    """

    def __init__(self, certainty: float, observe: Callable[[SpeechCut], None] = lambda _cut: None) -> None:
        self._certainty = certainty
        self._observe = observe
        # An utterance begins without a draft, so that text from before a pause is not repeated.
        self._draft: tuple[int, ...] = ()
        self._shown = ""
        # Consecutive windows that were decoded only up to a doubtful word.
        self._stopped = 0

    @abstractmethod
    def _decode_window(self, window: Window, draft: tuple[int, ...], stopped: int) -> Transcript | None:
        """Decode a window; None if the model is lost. Raises `ModelTrouble` if it fails.

        ``stopped`` is the number of consecutive windows before it that ended at a doubtful word.
        """

    @override
    def transcribe(self, window: Window) -> str:
        """The text of a window; that of the window before if the model is lost."""
        draft, shown, stopped = self._draft, self._shown, self._stopped
        if window.is_final:
            # Even if it fails, nothing of it remains for the next utterance.
            self._draft, self._shown, self._stopped = (), "", 0
        transcript = self._decode_window(window, draft, stopped)
        if transcript is None:
            return shown
        if window.is_final:
            if transcript.is_cut:
                self._observe(_cut(len(window.samples) / SAMPLE_RATE))
            return transcript.text
        self._draft = transcript.tokens
        self._stopped = 0 if transcript.is_whole else stopped + 1
        self._shown = steady_text(transcript.pieces, transcript.probability, self._certainty, shown)
        return self._shown


def _cut(seconds: float) -> SpeechCut:
    return SpeechCut(
        f"the recogniser wrote more than {seconds:.1f} s of speech can hold, and its text was cut: words may "
        "be missing; check that the spoken language is that of --from"
    )
