"""Moonshine as a recogniser: its model in ONNX Runtime, its last hypothesis as the draft of the next."""

import importlib.util
from collections.abc import Callable, Sequence, Set
from pathlib import Path
from typing import Any

from typing_extensions import override

from operators.decoding.forward import Task
from operators.decoding.pass_cost import PassCosts
from operators.decoding.pieces import Piece, textless
from operators.decoding.repetition import TOKENS, TWICE, repetition
from operators.decoding.session import KvCache
from operators.decoding.speech import Doubt
from operators.errors import InputError
from operators.events import SAMPLE_RATE
from operators.languages import Language
from operators.notifications import SpeechCut
from operators.recognizers.moonshine.model import BEGIN, END, MoonshineModel, load_model
from operators.recognizers.part import USUAL, Observe, RecognizerSettings, unobserved
from operators.recognizers.windowed.expected import Expected
from operators.recognizers.windowed.method import (
    CERTAINTY,
    DraftingTranscriber,
    SpeechMethod,
    WindowResult,
    doubt_of,
    hear,
    method_of,
)
from operators.recognizers.windowed.recognizer import WindowedRecognizer
from operators.recognizers.windowed.segmenter import Samples, Window

#: Milliseconds of a pass of the tiny model by its number of tokens (docs/scripts/moonshine_passes.py).
COSTS = PassCosts((1, 8, 32), (2.8, 4.0, 8.5))
#: Gap of logits below which a final's decision is not taken from a pass over many tokens. With it 184 of 185
#: finals measured there equal greedy decoding; the other one differs in its closing punctuation.
MARGIN = 0.2
#: Maximum tokens per second of English speech and of speech in other languages, and the minimum limit of a
#: window. They are those of the model's makers, who need the higher one for every script but the Latin one.
#: Here it is for Spanish and Vietnamese, too: a limit that is too high only costs time if the model finds no
#: end, and one that is too low loses words.
_ENGLISH_TOKENS_PER_S, _TOKENS_PER_S, _MIN_TOKENS = 6.5, 13.0, 8
#: A transcript in English is doubtful if the mean log probability of its tokens is below the first; one with
#: fewer tokens than the last, about which less is known, below the second. So were one of 1258 transcripts of
#: real English speech, and 19 of 29 of speech in other languages (docs/recognition.md).
_DOUBTFUL, _BRIEF_DOUBTFUL, _BRIEF = -0.9, -1.25, 8


def decode(
    method: SpeechMethod,
    cache: KvCache,
    draft: tuple[int, ...],
    samples: int,
    *,
    is_final: bool,
    doubt: Doubt | None = None,
    piece: Piece = textless,
    spoken: Language | None = None,
    expected: Expected | None = None,
) -> WindowResult:
    """Decode one window of so many ``samples``; ``cache`` holds its encoder states.

    With ``doubt``, decoding of unfinished speech may end early. ``piece`` spells a token. English is spoken
    unless ``spoken`` says otherwise. Names that are ``expected`` are leant towards. Raises `ModelTrouble` if
    the model fails.
    """
    task = speech_task(draft if method.use_draft else (), samples, is_final=is_final, spoken=spoken)
    task = task._replace(piece=piece)
    heard = hear(method, task, cache, margin=MARGIN, costs=COSTS, doubt=doubt, expected=expected)
    if len(heard.tokens) > samples / SAMPLE_RATE * _tokens_per_s(spoken):
        # More than was said in this time, so what comes twice in a row was said once.
        once = repetition(heard.tokens, piece=piece, times=TWICE, least=TOKENS)
        heard = heard._replace(tokens=heard.tokens[:once])
    return heard._replace(is_doubtful=is_final and _is_doubtful(heard, spoken))


def _is_doubtful(heard: WindowResult, spoken: Language | None) -> bool:
    """Whether the words of a transcript are probably invented; measured for English only."""
    least = _DOUBTFUL if len(heard.tokens) >= _BRIEF else _BRIEF_DOUBTFUL
    return _is_english(spoken) and heard.mean_log_probability < least


def speech_task(
    draft: tuple[int, ...], samples: int, *, is_final: bool, spoken: Language | None = None
) -> Task:
    """The decoding task for a window of so many samples; English is spoken by default."""
    limit = _MIN_TOKENS + round(_tokens_per_s(spoken) * samples / SAMPLE_RATE)
    return Task(prompt=[BEGIN], draft=draft, stop={END}, limit=limit, is_final=is_final)


def _tokens_per_s(spoken: Language | None) -> float:
    return _ENGLISH_TOKENS_PER_S if _is_english(spoken) else _TOKENS_PER_S


def _is_english(spoken: Language | None) -> bool:
    return spoken is None or spoken.code == "en"


class MoonshineTranscriber(DraftingTranscriber):
    """Decodes the windows of one stream.

    Args:
        model: The model, which streams share.
        method: How windows are decoded.
        certainty: Minimum probability of the last shown word of an unfinished text; 0 shows every word.
        spoken: The spoken language; English by default.
        observe: Told what was cut or left out.
    """

    margin = MARGIN

    def __init__(
        self,
        model: MoonshineModel,
        method: SpeechMethod,
        certainty: float = CERTAINTY,
        *,
        spoken: Language | None = None,
        observe: Callable[[SpeechCut], None] = lambda _cut: None,
    ) -> None:
        super().__init__(method, certainty, observe)
        self._model = model
        self._spoken = spoken
        self._expected: Expected | None = None

    @override
    def expect(self, words: Set[str]) -> None:
        self._expected = Expected(words, [*map(self.piece, range(len(self._model.tokenizer)))])

    @override
    def encode(self, samples: Samples) -> Any:
        return self._model.encode(samples)

    @override
    def decode(
        self, method: SpeechMethod, encoded: Any, draft: tuple[int, ...], window: Window, stopped: int
    ) -> WindowResult:
        return decode(
            method,
            encoded,
            draft,
            len(window.samples),
            is_final=window.is_final,
            doubt=doubt_of(method, draft, stopped, self.piece),
            piece=self.piece,
            spoken=self._spoken,
            expected=self._expected,
        )

    @override
    def piece(self, token: int) -> bytes:
        return self._model.tokenizer.piece(token)

    @override
    def text(self, tokens: Sequence[int]) -> str:
        return self._model.tokenizer.text(tokens)


def moonshine_recognizer(
    settings: RecognizerSettings = USUAL, spoken: Language | None = None, observe: Observe = unobserved
) -> WindowedRecognizer:
    """A recogniser of one stream; without a model's folder, with the installed English model.

    Raises:
        InputError: if the folder is not such a model.
    """
    folder = Path(settings.model) if settings.model else bundled_model()
    model = load_model(str(folder.absolute()), settings.usual_threads)
    transcriber = MoonshineTranscriber(
        model, method_of(settings), settings.certainty, spoken=spoken, observe=observe
    )
    return WindowedRecognizer(transcriber, update_interval_s=settings.update_interval_s, observe=observe)


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
