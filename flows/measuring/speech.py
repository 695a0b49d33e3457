"""Runs ``surtitle bench-speech``: decodes the same windows in several ways, in turns, on a recogniser."""

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from flows.engine.recognition import check_recognizer, make_recognizer
from flows.measuring.corpus import Clip, samples
from flows.measuring.results import Results, running
from flows.measuring.signature import of_clips
from flows.measuring.speech_scores import RecordingTrial, WindowUpdate, rows_of, tables
from operators.decoding.speech import SpeechMethod, steady_text
from operators.errors import InputError
from operators.events import SAMPLE_RATE
from operators.recognizers.moonshine import bundled_model
from operators.recognizers.part import RecognizerSettings, unobserved
from operators.recognizers.windowed import Samples, Segmenter, Window, WindowedRecognizer, silero


class SpeechJob(NamedTuple):
    """What to measure."""

    clips: Sequence[Clip]
    recognizer: str
    #: Folder of the speech model; None for the recogniser's own.
    model: Path | None
    spoken: str
    biases: Sequence[float]
    certainties: Sequence[float]
    interval_s: float
    threads: int


def run_speech(job: SpeechJob) -> Results:
    """Measure all ways on all recordings. Raises `SurtitleError` if that cannot be done."""
    with running() as runner:
        recognizer = _open(job)
        methods = _methods(job.biases, job.certainties)
        trials = []
        for clip in runner.each(job.clips, "measuring", "recordings"):
            # As it was decoded, and as it is shown.
            certainties = [0.0, *job.certainties]
            trials.append(_trial(recognizer, samples(clip), methods, certainties, job.interval_s))
    if not any(trial.encoder_s for trial in trials):
        raise InputError(
            f"{job.clips[0].path}: no speech was found; give recordings in which somebody speaks"
        )
    references = [clip.text for clip in job.clips]
    rows = rows_of(trials, methods, [None, *job.certainties], references)
    signature = of_clips(
        job.model or bundled_model(),
        job.clips,
        job.threads,
        interval_s=job.interval_s,
        margin=recognizer.margin,
        aggregation="wer,ne:pooled|times:mean-over-updates,ways-in-turns",
    )
    return Results(signature, {"rows": rows}, tables(rows))


def _open(job: SpeechJob) -> WindowedRecognizer:
    model = None if job.model is None else str(job.model)
    settings = RecognizerSettings(engine=job.recognizer, model=model, threads=job.threads)
    check_recognizer(settings, spoken=job.spoken, is_live=False)
    recognizer = make_recognizer(settings, spoken=job.spoken, observe=unobserved)
    assert isinstance(recognizer, WindowedRecognizer), "it says so"
    return recognizer


def _methods(biases: Sequence[float], certainties: Sequence[float]) -> list[SpeechMethod]:
    """From scratch, the baseline of all others; then each bias, also stopping below each certainty."""
    stops = [0.0, *filter(None, certainties)]
    drafts = [SpeechMethod(bias=bias, stop_below=least) for bias in biases for least in stops]
    return [SpeechMethod(use_draft=False), *drafts]


class _Variant:
    """One way of decoding, and the state of its open utterance."""

    def __init__(
        self, engine: WindowedRecognizer, method: SpeechMethod, certainties: Sequence[float]
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
            self._draft, self._shown, self._stopped = (), [""] * len(self._certainties), 0


def _trial(
    engine: WindowedRecognizer,
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
