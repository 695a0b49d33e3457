"""Decodes the same windows in several ways, in turns, and writes down what each of them said."""

from collections.abc import Sequence
from time import perf_counter
from typing import NamedTuple

from operators.recognizers.moonshine.decoder import SpeechMethod, decode
from operators.recognizers.moonshine.model import Encoded, MoonshineModel
from operators.recognizers.segmenter import Segmenter, Window
from operators.recognizers.steady import steady_text
from operators.recognizers.voice import Samples, silero


class Update(NamedTuple):
    """What one way of decoding made of one window."""

    is_final: bool
    tokens: tuple[int, ...]
    #: The text as it was decoded, and as it is shown at each certainty that was asked for.
    text: str
    shown: tuple[str, ...]
    passes: int
    decoder_s: float


class Trial(NamedTuple):
    """One recording, heard in all ways."""

    #: The updates of each way.
    ways: tuple[list[Update], ...]
    #: Seconds of the voice detector, and of the encoder at each update, which all ways share.
    detector_s: float
    encoder_s: list[float]


class _Way:
    """One way of decoding, and where its open utterance stands."""

    def __init__(self, model: MoonshineModel, method: SpeechMethod, certainties: Sequence[float]) -> None:
        self._model = model
        self._method = method
        self._certainties = certainties
        self.updates: list[Update] = []
        self._draft: tuple[int, ...] = ()
        self._shown = [""] * len(certainties)

    def hear(self, window: Window, encoded: Encoded) -> None:
        """Decode a window and keep what became of it."""
        began = perf_counter()
        heard = decode(self._method, encoded, self._draft, len(window.samples), is_final=window.is_final)
        decoder_s = perf_counter() - began
        tokenizer = self._model.tokenizer
        text = tokenizer.text(heard.tokens)
        self._shown = [
            text
            if window.is_final
            else steady_text(list(map(tokenizer.piece, heard.tokens)), heard.probability, least, shown)
            for least, shown in zip(self._certainties, self._shown, strict=True)
        ]
        self._draft = heard.tokens
        self.updates.append(
            Update(window.is_final, heard.tokens, text, tuple(self._shown), heard.cost.passes, decoder_s)
        )
        if window.is_final:
            self._forget()

    def _forget(self) -> None:
        self._draft = ()
        self._shown = [""] * len(self._certainties)


def hear(
    model: MoonshineModel,
    audio: Samples,
    methods: Sequence[SpeechMethod],
    certainties: Sequence[float],
    interval_s: float,
) -> Trial:
    """Hear a recording once, each of its windows in all ways; who begins changes with each window."""
    began = perf_counter()
    segmenter = Segmenter(silero(), interval_s)
    windows = [*segmenter.accept(audio), *segmenter.finish()]
    detector_s = perf_counter() - began
    ways = [_Way(model, method, certainties) for method in methods]
    encoder_s: list[float] = []
    for number, window in enumerate(windows):
        began = perf_counter()
        encoded = model.encode(window.samples)
        encoder_s.append(perf_counter() - began)
        first = number % len(ways)
        for way in [*ways[first:], *ways[:first]]:
            way.hear(window, encoded.again())
    return Trial(tuple(way.updates for way in ways), detector_s, encoder_s)
