"""The speech models that the benchmark can run, behind a common interface of two calls."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from typing_extensions import override

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


class SpeechEngine(Protocol):
    """A speech model."""

    #: Folder of its files.
    folder: Path
    #: The rules for the end of an utterance; None for the default rules.
    rules: SegmentRules | None
    #: Finals are decoded from scratch if the gap of logits is below this.
    margin: float

    def encode(self, samples: Samples) -> Any:
        """The encoder's states of a window; their ``again()`` gives a copy without any decoder pass."""
        ...

    def decode(
        self, method: SpeechMethod, encoded: Any, draft: tuple[int, ...], window: Window, stopped: int
    ) -> Callable[[], DecodedWindow]:
        """Decode a window; the returned function makes the text of the result, outside the timed part.

        ``stopped`` is the number of previous windows that stopped at an uncertain word.
        """
        ...


def open_engine(name: str, folder: Path | None, spoken: str, threads: int) -> SpeechEngine:
    """Open the engine of that name. Raises `SurtitleError` if it or its model is missing."""
    match name:
        case "moonshine":
            _check("moonshine", folder, spoken)
            tell_moonshine_terms(language(spoken))
            return _Moonshine(folder, spoken, threads)
        case "whisper":
            _check("whisper", folder, spoken)
            assert folder is not None, "a check has looked"
            return _Whisper(folder, spoken, threads)
    raise UsageError(f"--recognizer: {name!r} cannot be measured; choose moonshine or whisper")


def _check(name: Literal["moonshine", "whisper"], folder: Path | None, spoken: str) -> None:
    settings = RecognizeSettings(engine=name, model=None if folder is None else str(folder))
    check_recognizer(settings, spoken=spoken, is_live=False)


class _Moonshine(SpeechEngine):
    def __init__(self, folder: Path | None, spoken: str, threads: int) -> None:
        from operators.recognizers.moonshine.decoder import MARGIN
        from operators.recognizers.moonshine.model import load_model
        from operators.recognizers.moonshine.recognizer import bundled_model

        self.folder = folder or bundled_model()
        self.rules = None
        self.margin = MARGIN
        self._spoken = language(spoken)
        self._model = load_model(str(self.folder.absolute()), threads)

    @override
    def encode(self, samples: Samples) -> Any:
        return self._model.encode(samples)

    @override
    def decode(
        self, method: SpeechMethod, encoded: Any, draft: tuple[int, ...], window: Window, stopped: int
    ) -> Callable[[], DecodedWindow]:
        from operators.recognizers.moonshine.decoder import decode

        tokenizer = self._model.tokenizer
        doubt = doubt_of(method, draft, stopped, tokenizer.piece)
        heard = decode(
            method,
            encoded,
            draft,
            len(window.samples),
            is_final=window.is_final,
            doubt=doubt,
            piece=tokenizer.piece,
            spoken=self._spoken,
        )
        return lambda: DecodedWindow(
            heard.tokens,
            tokenizer.text(heard.tokens),
            [tokenizer.piece(token) for token in heard.tokens],
            heard.probability,
            heard.cost.passes,
            heard.is_whole,
        )


class _Whisper(SpeechEngine):
    def __init__(self, folder: Path, spoken: str, threads: int) -> None:
        from operators.recognizers.whisper.decoder import MARGIN
        from operators.recognizers.whisper.model import load_model
        from operators.recognizers.whisper.recognizer import RULES

        self.folder = folder
        self.rules = RULES
        self.margin = MARGIN
        self._model = load_model(str(folder.absolute()), threads)
        self._vocabulary = self._model.files.vocabulary
        self._prompt = self._vocabulary.prompt(language(spoken))

    @override
    def encode(self, samples: Samples) -> Any:
        return self._model.encode(samples, self._prompt)

    @override
    def decode(
        self, method: SpeechMethod, encoded: Any, draft: tuple[int, ...], window: Window, stopped: int
    ) -> Callable[[], DecodedWindow]:
        from operators.recognizers.whisper.decoder import decode

        doubt = doubt_of(method, draft, stopped, self._vocabulary.piece)
        heard = decode(method, encoded, draft, is_final=window.is_final, doubt=doubt)
        return lambda: DecodedWindow(
            heard.tokens,
            heard.text,
            [self._vocabulary.piece(token) for token in heard.tokens],
            heard.probability,
            heard.cost.passes,
            heard.is_whole,
        )
