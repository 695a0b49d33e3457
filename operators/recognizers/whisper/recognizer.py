"""Whisper as a recogniser: its model in ONNX Runtime, its last hypothesis as the draft of the next."""

from collections.abc import Callable, Sequence
from typing import Any

from typing_extensions import override

from operators.languages import Language, language
from operators.observed import SpeechCut
from operators.recognizers.part import Observe, RecognizerSettings, named_model, unobserved
from operators.recognizers.whisper.decoder import MARGIN, decode
from operators.recognizers.whisper.model import WhisperModel, load_model
from operators.recognizers.windowed.drafting import CERTAINTY, DraftingTranscriber, recognizer_of
from operators.recognizers.windowed.method import SpeechMethod, WindowResult, doubt_of, method_of
from operators.recognizers.windowed.recognizer import WindowedRecognizer
from operators.recognizers.windowed.segmenter import Samples, SegmentRules, Window

#: The model was trained on 30 s; two of these are the silence after the speech. It recognises short
#: utterances worse: with the usual pause of a quarter second tiny.en had 7.5 % of the words wrong, with this
#: one 4.3 %.
RULES = SegmentRules(pause_s=0.448, long_s=15.0, longest_s=28.0)


class WhisperTranscriber(DraftingTranscriber):
    """Decodes the windows of one stream.

    Args:
        model: The model, which streams share.
        prompt: Its tokens before a transcript: the spoken language and the task.
        method: How windows are decoded.
        certainty: Minimum probability of the last shown word of an unfinished text; 0 shows every word.
        observe: Told what was cut.
    """

    rules, margin = RULES, MARGIN

    def __init__(
        self,
        model: WhisperModel,
        prompt: Sequence[int],
        method: SpeechMethod,
        certainty: float = CERTAINTY,
        observe: Callable[[SpeechCut], None] = lambda _cut: None,
    ) -> None:
        super().__init__(method, certainty, observe)
        self._model = model
        self._prompt = prompt

    @override
    def encode(self, samples: Samples) -> Any:
        return self._model.encode(samples, self._prompt)

    @override
    def decode(
        self, method: SpeechMethod, encoded: Any, draft: tuple[int, ...], window: Window, stopped: int
    ) -> WindowResult:
        doubt = doubt_of(method, draft, stopped, self.piece)
        return decode(method, encoded, draft, is_final=window.is_final, doubt=doubt)

    @override
    def piece(self, token: int) -> bytes:
        return self._model.files.vocabulary.piece(token)

    @override
    def text(self, tokens: Sequence[int]) -> str:
        return self._model.files.vocabulary.text(tokens)


def whisper_recognizer(
    settings: RecognizerSettings, spoken: Language | None = None, observe: Observe = unobserved
) -> WindowedRecognizer:
    """A recogniser of one stream, of English by default; its model's folder is in CTranslate2's format.

    Raises:
        UsageError: if the model does not know the language, or the extra is not installed.
        InputError: if the folder is not such a model.
    """
    model = load_model(str(named_model(settings).absolute()), settings.usual_threads)
    prompt = model.files.vocabulary.prompt(spoken or language("English"))
    transcriber = WhisperTranscriber(model, prompt, method_of(settings), settings.certainty, observe)
    return recognizer_of(transcriber, settings, observe)
