"""Decodes the same windows in several ways, in turns, on a recogniser; its own library is a baseline."""

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from flows.engine.recognition import check_recognizer, make_recognizer
from flows.measuring.speech.command import MEASURED
from operators.errors import UsageError
from operators.events import SAMPLE_RATE
from operators.recognizers.moonshine.recognizer import bundled_model
from operators.recognizers.part import RecognizerSettings, unobserved
from operators.recognizers.windowed.method import DraftingTranscriber, SpeechMethod, steady_text
from operators.recognizers.windowed.recognizer import WindowedRecognizer
from operators.recognizers.windowed.segmenter import Samples, Segmenter, Window, silero


def open_engine(name: str, folder: Path | None, spoken: str, threads: int) -> DraftingTranscriber:
    """What decodes the windows of that recogniser. Raises `SurtitleError` if it or its model is missing."""
    if name not in MEASURED:
        raise UsageError(f"--recognizer: {name!r} cannot be measured; choose {' or '.join(MEASURED)}")
    model = None if folder is None else str(folder)
    settings = RecognizerSettings(engine=name, model=model, threads=threads)
    check_recognizer(settings, spoken=spoken, is_live=False)
    recognizer = make_recognizer(settings, spoken=spoken, observe=unobserved)
    assert isinstance(recognizer, WindowedRecognizer), "it says so"
    assert isinstance(recognizer.transcriber, DraftingTranscriber), "it decodes with drafts"
    return recognizer.transcriber


class WindowUpdate(NamedTuple):
    """The result of one way of decoding for one window."""

    is_final: bool
    #: The text as decoded, and as shown at each requested certainty.
    text: str
    shown: tuple[str, ...]
    #: The rest is unknown of Moonshine's library.
    tokens: tuple[int, ...] = ()
    passes: int = 0
    decoder_s: float = 0.0
    #: Where the window ends in the recording.
    end_s: float = 0.0


class RecordingTrial(NamedTuple):
    """One recording, decoded in all ways."""

    #: The updates of each way.
    ways: tuple[list[WindowUpdate], ...]
    #: Seconds of the voice detector, and of the encoder at each update, which all ways share.
    detector_s: float
    encoder_s: list[float]


class _Variant:
    """One way of decoding, and the state of its open utterance."""

    def __init__(
        self, engine: DraftingTranscriber, method: SpeechMethod, certainties: Sequence[float]
    ) -> None:
        self._engine = engine
        self._method = method
        self._certainties = certainties
        self.updates: list[WindowUpdate] = []
        self._draft: tuple[int, ...] = ()
        self._shown = [""] * len(certainties)
        self._stopped = 0

    def decode(self, window: Window, encoded: Any) -> None:
        """Decode a window, and record the result."""
        began = perf_counter()
        said = self._engine.decode(self._method, encoded, self._draft, window, self._stopped)
        decoder_s = perf_counter() - began
        text, pieces = self._engine.text(said.tokens), [*map(self._engine.piece, said.tokens)]
        self._shown = [
            text if window.is_final else steady_text(pieces, said.probability, least, shown)
            for least, shown in zip(self._certainties, self._shown, strict=True)
        ]
        self._draft = said.tokens
        self._stopped = 0 if said.is_whole else self._stopped + 1
        self.updates.append(
            WindowUpdate(
                window.is_final,
                text,
                tuple(self._shown),
                said.tokens,
                said.cost.passes,
                decoder_s,
                window.end / SAMPLE_RATE,
            )
        )
        if window.is_final:
            self._forget()

    def _forget(self) -> None:
        self._draft = ()
        self._shown = [""] * len(self._certainties)
        self._stopped = 0


def ways_of(biases: Sequence[float], certainties: Sequence[float]) -> list[SpeechMethod]:
    """From scratch, the baseline of all others; then each bias, also stopping below each certainty."""
    stops = [0.0, *filter(None, certainties)]
    drafts = [SpeechMethod(bias=bias, stop_below=least) for bias in biases for least in stops]
    return [SpeechMethod(use_draft=False), *drafts]


def run_trial(
    engine: DraftingTranscriber,
    audio: Samples,
    methods: Sequence[SpeechMethod],
    certainties: Sequence[float],
    interval_s: float,
) -> RecordingTrial:
    """Decode each window of a recording in all ways; the first way rotates from window to window."""
    began = perf_counter()
    segmenter = Segmenter(silero(), interval_s, engine.rules)
    windows = [*segmenter.accept(audio), *segmenter.finish()]
    detector_s = perf_counter() - began
    ways = [_Variant(engine, method, certainties) for method in methods]
    encoder_s: list[float] = []
    for number, window in enumerate(windows):
        began = perf_counter()
        encoded = engine.encode(window.samples)
        encoder_s.append(perf_counter() - began)
        first = number % len(ways)
        for way in [*ways[first:], *ways[:first]]:
            way.decode(window, encoded.again())
    return RecordingTrial(tuple(way.updates for way in ways), detector_s, encoder_s)


#: Without this flag, the library transcribes by its own clock.
_FORCE_UPDATE = 1


class NativeTrial(NamedTuple):
    """One recording, recognised by the library."""

    updates: list[WindowUpdate]
    seconds: float


class NativeLibrary:
    """Moonshine's library with its included model.

    It leaks about 15 MB per minute of speech, which is acceptable in a benchmark.
    """

    def __init__(self) -> None:
        from moonshine_voice import ModelArch, Transcriber

        self._transcriber: Any = Transcriber(str(bundled_model()), ModelArch.TINY)

    def recognize(self, audio: Samples, interval_s: float) -> NativeTrial:
        """Recognise a recording as if live, with an update after each interval, but as fast as possible."""
        began = perf_counter()
        stream = self._transcriber.create_stream(update_interval=3600.0)
        stream.start()
        updates: list[WindowUpdate] = []
        size = round(interval_s * SAMPLE_RATE)
        finished = 0
        for at in range(0, len(audio), size):
            stream.add_audio(audio[at : at + size].tolist(), SAMPLE_RATE)
            lines = stream.update_transcription(_FORCE_UPDATE).lines
            updates += _updates(lines, finished)
            finished = sum(line.is_complete for line in lines)
        lines = stream.stop().lines
        updates += _updates(lines, finished)
        seconds = perf_counter() - began
        stream.close()
        return NativeTrial(updates, seconds)


def _updates(lines: Sequence[Any], finished: int) -> list[WindowUpdate]:
    return [WindowUpdate(line.is_complete, line.text, (line.text,)) for line in lines[finished:]]
