"""Runs ``surtitle bench --task speech``: decodes the same windows in several ways, in turns.

A row is a way of decoding at a minimum probability of the last word shown, pooled over all recordings.
"""

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from msgspec.structs import replace

from connectors.files.distinct import check_distinct
from flows.engine.recognition import check_recognizer, chosen, make_recognizer
from flows.measuring.corpus import read_clips, samples
from flows.measuring.plan import BenchJob, Grid
from flows.measuring.results import Results, Row, of_recordings, publish, running
from flows.pages.table import Column, Table, tabulated
from operators.decoding.speech import SpeechMethod, steady_text
from operators.errors import InputError, UsageError
from operators.events import SAMPLE_RATE
from operators.languages import Language
from operators.metrics.erasure import erasure
from operators.metrics.wer import spoken_words, word_error_rate
from operators.recognizers.drafting import DraftingTranscriber
from operators.recognizers.moonshine import bundled_model
from operators.recognizers.part import RECOGNIZERS, USUAL, RecognizerSettings, unobserved
from operators.recognizers.segmenter import Samples, Segmenter, Window, silero
from operators.recognizers.windowed import WindowedRecognizer
from operators.text import common_prefix


class WindowUpdate(NamedTuple):
    #: The text as decoded, and as shown at each requested certainty.
    text: str
    shown: tuple[str, ...]
    tokens: tuple[int, ...] = ()
    passes: int = 0
    decoder_s: float = 0.0
    #: Where the window ends in the recording.
    end_s: float = 0.0


#: The updates of an utterance; the last one is its final.
Utterance = list[WindowUpdate]


class RecordingTrial(NamedTuple):
    #: The utterances of each way.
    ways: tuple[list[Utterance], ...]
    #: Seconds of the voice detector, and of the encoder for all updates, which all ways share.
    detector_s: float
    encoder_s: float


def bench_speech(job: BenchJob, settings: RecognizerSettings, spoken: Language, grid: Grid) -> None:
    """Measure a recogniser on recordings, and publish the rows.

    Args:
        spoken: The spoken language.
        grid: Values of ``bias`` and ``certainty``.
    """
    windowed = [one.name for one in RECOGNIZERS.values() if one.is_windowed]
    settings = chosen(settings, (spoken,))
    if settings.engine not in windowed:
        named = " or ".join(windowed)
        raise UsageError(f"--recognizer: {settings.engine!r} cannot be measured; choose {named}")
    model = None if settings.model is None else Path(settings.model)
    check_distinct(job.written, [*job.sources, job.reference, model])
    clips = read_clips(job.sources, job.reference)[job.chosen]
    certainties = grid.get("certainty", (0.0, USUAL.certainty))
    # From scratch, the baseline of all others; then each bias, also stopping below each certainty.
    methods = [SpeechMethod(use_draft=False)]
    for bias in grid.get("bias", (0.0, USUAL.bias)):
        methods += [SpeechMethod(bias=bias, stop_below=least) for least in (0.0, *filter(None, certainties))]
    settings = replace(settings, threads=settings.usual_threads)
    check_recognizer(settings, spoken=(spoken,), is_live=False)
    with running() as runner:
        recognizer = make_recognizer(settings, spoken=(spoken,), observe=unobserved)
        assert isinstance(recognizer, WindowedRecognizer), "the engine is windowed"
        transcriber = recognizer.transcriber
        assert isinstance(transcriber, DraftingTranscriber), "one language is spoken"
        trials = [
            _trial(transcriber, samples(clip), methods, certainties, settings.update_interval_s)
            for clip in runner.each(clips, "measuring", "recordings")
        ]
    if not any(trial.encoder_s for trial in trials):
        raise InputError(f"{job.sources[0]}: no speech was found; give recordings in which somebody speaks")
    rows = rows_of(trials, methods, certainties, [clip.text for clip in clips])
    signature = of_recordings(
        model or bundled_model(),
        clips,
        settings.usual_threads,
        interval_s=settings.update_interval_s,
        margin=transcriber.margin,
        aggregation="wer,ne:pooled|times:mean-over-updates,ways-in-turns",
    )
    publish(Results(signature, rows, tables(rows)), json=job.json, markdown=job.markdown)


class _MethodRun:
    """One way of decoding, and the state of its open utterance."""

    def __init__(
        self, engine: DraftingTranscriber, method: SpeechMethod, certainties: Sequence[float]
    ) -> None:
        self._engine = engine
        self._method = method
        self._certainties = certainties
        self.utterances: list[Utterance] = []
        self._begin()

    def _begin(self) -> None:
        self._updates: Utterance = []
        self._draft: tuple[int, ...] = ()
        self._shown = [""] * len(self._certainties)
        self._stopped = 0

    def decode(self, window: Window, encoded: Any) -> None:
        began = perf_counter()
        output = self._engine.decode(self._method, encoded, self._draft, window, self._stopped)
        decoder_s = perf_counter() - began
        text, pieces = self._engine.text(output.tokens), [*map(self._engine.piece, output.tokens)]
        self._shown = [
            text if window.is_final else steady_text(pieces, output.probability, least, shown)
            for least, shown in zip(self._certainties, self._shown, strict=True)
        ]
        self._draft = output.tokens
        self._stopped = 0 if output.is_whole else self._stopped + 1
        passes, end_s, shown = output.cost.passes, window.end / SAMPLE_RATE, tuple(self._shown)
        self._updates.append(WindowUpdate(text, shown, output.tokens, passes, decoder_s, end_s))
        if window.is_final:
            self.utterances.append(self._updates)
            self._begin()


def _trial(
    engine: DraftingTranscriber,
    audio: Samples,
    methods: Sequence[SpeechMethod],
    certainties: Sequence[float],
    interval_s: float,
) -> RecordingTrial:
    """The methods take turns at going first."""
    began = perf_counter()
    segmenter = Segmenter(silero(), interval_s, engine.rules)
    windows = [*segmenter.accept(audio), *segmenter.finish()]
    detector_s = perf_counter() - began
    ways = [_MethodRun(engine, method, certainties) for method in methods]
    encoder_s = 0.0
    for number, window in enumerate(windows):
        began = perf_counter()
        encoded = engine.encode(window)
        encoder_s += perf_counter() - began
        first = number % len(ways)
        for way in [*ways[first:], *ways[:first]]:
            way.decode(window, encoded.again())
    return RecordingTrial(tuple(way.utterances for way in ways), detector_s, encoder_s)


def rows_of(
    trials: Sequence[RecordingTrial],
    methods: Sequence[SpeechMethod],
    certainties: Sequence[float],
    references: Sequence[str | None],
) -> list[Row]:
    """A row for each method, as decoded and at each certainty; the first method decodes from scratch."""
    rows = []
    for number, method in enumerate(methods):
        utterances = [one for trial in trials for one in trial.ways[number]]
        common = {**_times(trials, number), "wer": _wer(trials, number, references)}
        for place, least in enumerate((None, *certainties), start=-1):
            # Words that were not decoded because they would be hidden cannot be shown at another certainty.
            if method.stop_below not in (0, least):
                continue
            settings = {
                "method": "draft" if method.use_draft else "scratch",
                "bias": method.bias if method.use_draft else None,
                "certainty": least,
                "ends_early": method.stop_below > 0,
            }
            shown = [[one.text if least is None else one.shown[place] for one in each] for each in utterances]
            rows.append({"settings": settings, "metrics": {**common, **_stability(utterances, shown)}})
    return rows


def _times(trials: Sequence[RecordingTrial], way: int) -> dict[str, Any]:
    own, scratch = ([each for trial in trials for each in trial.ways[number]] for number in (way, 0))
    updates = [one for each in own for one in each]
    count = max(1, len(updates))
    shared_s = sum(trial.detector_s + trial.encoder_s for trial in trials)
    decoder_s, scratch_s = (sum(one.decoder_s for each in of for one in each) for of in (own, scratch))
    return {
        "updates": len(updates),
        "decoder_ms": 1000 * decoder_s / count,
        # Of the voice detector, the encoder and the decoder.
        "recognizer_ms": 1000 * (shared_s + decoder_s) / count,
        "decoder_ratio": decoder_s / scratch_s if scratch_s else None,
        "recognizer_ratio": (shared_s + decoder_s) / (shared_s + scratch_s) if scratch_s else None,
        "passes_per_update": sum(one.passes for one in updates) / count,
        "finals": len(own),
        "finals_equal": sum(
            each[-1].tokens == other[-1].tokens for each, other in zip(own, scratch, strict=True)
        ),
    }


def _wer(trials: Sequence[RecordingTrial], way: int, references: Sequence[str | None]) -> float | None:
    """In per cent, pooled over the recordings with a reference."""
    return word_error_rate(
        (reference, " ".join(each[-1].text for each in trial.ways[way]))
        for trial, reference in zip(trials, references, strict=True)
        if reference is not None
    )


def _stability(utterances: Sequence[Utterance], shown: Sequence[Sequence[str]]) -> dict[str, float]:
    held, waited_s = list[int](), list[float]()
    for each, texts in zip(utterances, shown, strict=True):
        for one, text in zip(each[:-1], texts, strict=False):
            held.append(len(one.text.split()) - len(text.split()))
        waited_s += _settled_s([one.end_s for one in each], [spoken_words(text) for text in texts])
    ne, revising = _erased([[tuple(text.split()) for text in texts] for texts in shown])
    ne_words, revising_words = _erased([[spoken_words(text) for text in texts] for texts in shown])
    return {
        "ne": ne,
        "revising_share": revising,
        "ne_words": ne_words,
        "revising_share_words": revising_words,
        "held_back": sum(held) / max(1, len(held)),
        # The mean over all words of the finals, ignoring case and punctuation.
        "settled_s": sum(waited_s) / max(1, len(waited_s)),
    }


def _erased(utterances: Sequence[Sequence[tuple[str, ...]]]) -> tuple[float, float]:
    """Erased words per word of the finals, and the share of updates that erase any."""
    erased = [count for texts in utterances for count in map(erasure, texts, texts[1:])]
    updates, length = sum(map(len, utterances)), sum(len(texts[-1]) for texts in utterances)
    return sum(erased) / max(1, length), sum(map(bool, erased)) / max(1, updates)


def _settled_s(times_s: Sequence[float], texts: Sequence[tuple[str, ...]]) -> list[float]:
    """For each word of the last text, the seconds from the first update until it is settled.

    A word is settled when every later update shows it, and all words before it, unchanged.
    """
    settled_s = [times_s[-1]] * len(texts[-1])
    least = len(texts[-1])
    for end_s, words in zip(reversed(times_s), reversed(texts), strict=True):
        least = min(least, common_prefix(words, texts[-1]))
        settled_s[:least] = [end_s] * least
    return [end_s - times_s[0] for end_s in settled_s]


def tables(rows: Sequence[Row]) -> list[Table]:
    # The shown part of a hypothesis does not affect times, unless decoding of its window ended early.
    timed = [row for row in rows if row["settings"]["certainty"] is None or row["settings"]["ends_early"]]
    return [
        tabulated("An update", timed, _TIMES, absent=""),
        tabulated("What is shown", rows, _SHOWN, absent=""),
    ]


def _label(row: Row) -> str:
    settings = row["settings"]
    parts = [settings["method"]]
    if settings["bias"] is not None:
        parts.append(f"β={settings['bias']:g}")
    if settings["certainty"] is not None:
        parts.append(f"certainty={settings['certainty']:g}")
    if settings["ends_early"]:
        parts.append("ending early")
    return " ".join(parts)


_TIMES = (
    Column("", _label),
    Column("updates", "metrics.updates"),
    Column("decoder ms", "metrics.decoder_ms", 1),
    Column("of scratch", "metrics.decoder_ratio", 2),
    Column("recogniser ms", "metrics.recognizer_ms", 1),
    Column("of scratch", "metrics.recognizer_ratio", 2),
    Column("passes", "metrics.passes_per_update", 1),
    Column("finals equal", lambda row: "{finals_equal} of {finals}".format(**row["metrics"])),
)
_SHOWN = (
    Column("", _label),
    Column("WER %", "metrics.wer", 2),
    Column("NE", "metrics.ne", 2),
    Column("revising %", lambda row: 100 * row["metrics"]["revising_share"], 0),
    Column("NE, words alone", "metrics.ne_words", 2),
    Column("revising %", lambda row: 100 * row["metrics"]["revising_share_words"], 0),
    Column("held back", "metrics.held_back", 2),
    Column("settled s", "metrics.settled_s", 2),
)
