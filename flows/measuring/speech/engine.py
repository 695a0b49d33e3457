"""The speech models that the benchmark can run, behind a common interface of two calls."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from flows.engine.recognition import check_recognizer
from flows.engine.terms import tell_moonshine_terms
from flows.settings.schema import RecognizeSettings
from operators.errors import UsageError
from operators.languages import language
from operators.recognizers.windowed.method import SpeechMethod, doubt_of
from operators.recognizers.windowed.segmenter import SegmentRules, Window
from operators.recognizers.windowed.voice import Samples


class DecodedWindow(NamedTuple):
    """The result of a model for one window."""

    tokens: tuple[int, ...]
    text: str
    #: The bytes of each token, and a function for the model's own probability of the token at a position.
    pieces: Sequence[bytes]
    probability: Callable[[int], float]
    passes: int
    #: Whether the whole window was decoded, and not only the part up to an uncertain word.
    is_whole: bool


#: Decodes a window, given what `SpeechEngine.encode` has returned, the draft, and the number of previous
#: windows that stopped at an uncertain word. The returned function makes the text, outside the timed part.
Decode = Callable[[SpeechMethod, Any, tuple[int, ...], Window, int], Callable[[], DecodedWindow]]


class SpeechEngine(NamedTuple):
    """A speech model."""

    #: Folder of its files.
    folder: Path
    #: The rules for the end of an utterance; None for the default rules.
    rules: SegmentRules | None
    #: Finals are decoded from scratch if the gap of logits is below this.
    margin: float
    #: Makes the encoder's states of a window; their ``again()`` gives a copy without any decoder pass.
    encode: Callable[[Samples], Any]
    decode: Decode


def open_engine(name: str, folder: Path | None, spoken: str, threads: int) -> SpeechEngine:
    """Open the engine of that name. Raises `SurtitleError` if it or its model is missing."""
    model = None if folder is None else str(folder)
    match name:
        case "moonshine":
            check_recognizer(RecognizeSettings(engine=name, model=model), spoken=spoken, is_live=False)
            tell_moonshine_terms(language(spoken))
            return _moonshine(folder, spoken, threads)
        case "whisper":
            check_recognizer(RecognizeSettings(engine=name, model=model), spoken=spoken, is_live=False)
            assert folder is not None, "a check has looked"
            return _whisper(folder, spoken, threads)
    raise UsageError(f"--recognizer: {name!r} cannot be measured; choose moonshine or whisper")


def _moonshine(folder: Path | None, spoken: str, threads: int) -> SpeechEngine:
    from operators.recognizers.moonshine.decoder import MARGIN, decode
    from operators.recognizers.moonshine.model import load_model
    from operators.recognizers.moonshine.recognizer import bundled_model

    folder = folder or bundled_model()
    model = load_model(str(folder.absolute()), threads)
    piece = model.tokenizer.piece

    def decoded(
        method: SpeechMethod, encoded: Any, draft: tuple[int, ...], window: Window, stopped: int
    ) -> Callable[[], DecodedWindow]:
        doubt = doubt_of(method, draft, stopped, piece)
        heard = decode(
            method, encoded, draft, len(window.samples), is_final=window.is_final, doubt=doubt, piece=piece,
            spoken=language(spoken),
        )  # fmt: skip
        return lambda: _window(heard, model.tokenizer.text(heard.tokens), piece)

    return SpeechEngine(folder, None, MARGIN, model.encode, decoded)


def _whisper(folder: Path, spoken: str, threads: int) -> SpeechEngine:
    from operators.recognizers.whisper.decoder import MARGIN, decode
    from operators.recognizers.whisper.model import load_model
    from operators.recognizers.whisper.recognizer import RULES

    model = load_model(str(folder.absolute()), threads)
    vocabulary = model.files.vocabulary
    prompt = vocabulary.prompt(language(spoken))

    def decoded(
        method: SpeechMethod, encoded: Any, draft: tuple[int, ...], window: Window, stopped: int
    ) -> Callable[[], DecodedWindow]:
        doubt = doubt_of(method, draft, stopped, vocabulary.piece)
        heard = decode(method, encoded, draft, is_final=window.is_final, doubt=doubt)
        return lambda: _window(heard, heard.text, vocabulary.piece)

    return SpeechEngine(folder, RULES, MARGIN, lambda audio: model.encode(audio, prompt), decoded)


def _window(heard: Any, text: str, piece: Callable[[int], bytes]) -> DecodedWindow:
    """The result of a decoder; both models have their own type of it, with the same fields."""
    pieces = [piece(token) for token in heard.tokens]
    return DecodedWindow(heard.tokens, text, pieces, heard.probability, heard.cost.passes, heard.is_whole)
