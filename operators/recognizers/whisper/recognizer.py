"""Whisper as a recogniser: its model in ONNX Runtime, its last hypothesis as the draft of the next."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from typing_extensions import override

from operators.languages import Language, language
from operators.observed import RecognizerChanged, SpeechCut
from operators.recognizers.whisper.decoder import decode
from operators.recognizers.whisper.model import WhisperModel, load_model
from operators.recognizers.windowed.drafting import CERTAINTY, DraftingTranscriber, Transcript
from operators.recognizers.windowed.method import SpeechMethod, doubt_of
from operators.recognizers.windowed.recognizer import WindowedRecognizer
from operators.recognizers.windowed.segmenter import SegmentRules, Window

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

    def __init__(
        self,
        model: WhisperModel,
        prompt: Sequence[int],
        method: SpeechMethod,
        certainty: float = CERTAINTY,
        observe: Callable[[SpeechCut], None] = lambda _cut: None,
    ) -> None:
        super().__init__(certainty, observe)
        self._model = model
        self._prompt = prompt
        self._method = method

    @override
    def _decode_window(self, window: Window, draft: tuple[int, ...], stopped: int) -> Transcript | None:
        encoded = self._model.encode(window.samples, self._prompt)
        piece = encoded.vocabulary.piece
        heard = decode(
            self._method,
            encoded,
            draft,
            is_final=window.is_final,
            doubt=doubt_of(self._method, draft, stopped, piece),
        )
        if not heard.is_credible:
            return None
        pieces = [piece(token) for token in heard.tokens]
        return Transcript(heard.tokens, heard.text, pieces, heard.probability, heard.is_whole, heard.is_cut)


def whisper_recognizer(
    *,
    model_path: str | Path,
    spoken: Language | None = None,
    update_interval_s: float = 0.5,
    method: SpeechMethod | None = None,
    certainty: float = CERTAINTY,
    threads: int | None = None,
    observe: Callable[[RecognizerChanged | SpeechCut], None] = lambda _changed: None,
) -> WindowedRecognizer:
    """A recogniser of one stream. Models are loaded once per process, and shared.

    Args:
        model_path: Folder of a Whisper model in CTranslate2's format.
        spoken: The spoken language; English by default.
        update_interval_s: Seconds of audio between two hypotheses, from 0.1 to 10.
        method: How windows are decoded; by default they end early with words that are not shown.
        certainty: Minimum probability of the last shown word of an unfinished text.
        threads: Threads of ONNX Runtime; by default as many as there are cores, two at most.
        observe: Told what goes wrong.

    Raises:
        UsageError: if the model does not know the language, or the extra is not installed.
        InputError: if the folder is not such a model.
    """
    model = load_model(str(Path(model_path).absolute()), threads or min(2, os.cpu_count() or 1))
    prompt = model.files.vocabulary.prompt(spoken or language("English"))
    method = method or SpeechMethod(stop_below=certainty)
    transcriber = WhisperTranscriber(model, prompt, method, certainty, observe)
    return WindowedRecognizer(transcriber, update_interval_s=update_interval_s, observe=observe, rules=RULES)
