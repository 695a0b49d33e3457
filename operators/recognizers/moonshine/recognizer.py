"""Moonshine as a recogniser: its model in ONNX Runtime, its last hypothesis as the draft of the next."""

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path

from typing_extensions import override

from operators.errors import InputError
from operators.languages import Language
from operators.observed import RecognizerChanged, SpeechCut
from operators.recognizers.moonshine.decoder import decode
from operators.recognizers.moonshine.model import MoonshineModel, load_model
from operators.recognizers.windowed.drafting import CERTAINTY, DraftingTranscriber, Transcript
from operators.recognizers.windowed.method import SpeechMethod, doubt_of
from operators.recognizers.windowed.recognizer import WindowedRecognizer
from operators.recognizers.windowed.segmenter import Window


class MoonshineTranscriber(DraftingTranscriber):
    """Decodes the windows of one stream.

    Args:
        model: The model, which streams share.
        method: How windows are decoded.
        certainty: Minimum probability of the last shown word of an unfinished text; 0 shows every word.
        spoken: The spoken language; English by default.
        observe: Told what was cut.
    """

    def __init__(
        self,
        model: MoonshineModel,
        method: SpeechMethod,
        certainty: float = CERTAINTY,
        *,
        spoken: Language | None = None,
        observe: Callable[[SpeechCut], None] = lambda _cut: None,
    ) -> None:
        super().__init__(certainty, observe)
        self._model = model
        self._method = method
        self._spoken = spoken

    @override
    def _decode_window(self, window: Window, draft: tuple[int, ...], stopped: int) -> Transcript:
        encoded = self._model.encode(window.samples)
        tokenizer = self._model.tokenizer
        heard = decode(
            self._method,
            encoded,
            draft,
            len(window.samples),
            is_final=window.is_final,
            doubt=doubt_of(self._method, draft, stopped, tokenizer.piece),
            piece=tokenizer.piece,
            spoken=self._spoken,
        )
        pieces = [tokenizer.piece(token) for token in heard.tokens]
        return Transcript(
            heard.tokens,
            tokenizer.text(heard.tokens),
            pieces,
            heard.probability,
            heard.is_whole,
            heard.is_cut,
        )


def moonshine_recognizer(
    *,
    model_path: str | Path | None = None,
    spoken: Language | None = None,
    update_interval_s: float = 0.5,
    method: SpeechMethod | None = None,
    certainty: float = CERTAINTY,
    threads: int | None = None,
    observe: Callable[[RecognizerChanged | SpeechCut], None] = lambda _changed: None,
) -> WindowedRecognizer:
    """A recogniser of one stream. Models are loaded once per process, and shared.

    Args:
        model_path: Folder of the model's files; without it, the installed English model.
        spoken: The spoken language; English by default.
        update_interval_s: Seconds of audio between two hypotheses, from 0.1 to 10.
        method: How windows are decoded; by default they end early with words that are not shown.
        certainty: Minimum probability of the last shown word of an unfinished text.
        threads: Threads of ONNX Runtime; by default as many as there are cores, two at most.
        observe: Told what goes wrong.

    Raises:
        InputError: if the folder is not such a model.
    """
    folder = Path(model_path) if model_path else bundled_model()
    model = load_model(str(folder.absolute()), threads or min(2, os.cpu_count() or 1))
    transcriber = MoonshineTranscriber(
        model,
        method or SpeechMethod(stop_below=certainty),
        certainty,
        spoken=spoken,
        observe=observe,
    )
    return WindowedRecognizer(transcriber, update_interval_s=update_interval_s, observe=observe)


def bundled_model() -> Path:
    """The folder of the English model inside the wheel of moonshine-voice.

    The package is not imported, because its native library is not used. Raises `InputError` if it is gone.
    """
    return _assets() / "tiny-en"


def bundled_recording() -> Path:
    """Read English speech inside the same wheel, 44 seconds. Raises `InputError` if it is gone."""
    return _assets() / "two_cities.wav"


def _assets() -> Path:
    package = importlib.util.find_spec("moonshine_voice")
    if package is None or package.origin is None:
        raise InputError("the default speech model is missing: pip install moonshine-voice==0.0.48")
    return Path(package.origin).parent / "assets"
