"""Runs ``surtitle bench --task speech``: decodes the same windows in several ways, in turns.

A row is a way of decoding at a minimum probability of the last word shown, pooled over all recordings.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import regex
from msgspec.structs import replace

from connectors.files.distinct import check_distinct
from flows.engine.recognition import check_recognizer, make_recognizer
from flows.measuring.corpus import read_clips, samples
from flows.measuring.plan import BenchJob, Grid
from flows.measuring.results import Results, Row, of_recordings, publish, running
from flows.pages.table import Column, Table, tabulated
from operators.decoding.speech import SpeechMethod, steady_text
from operators.errors import InputError, UsageError
from operators.events import SAMPLE_RATE
from operators.metrics.erasure import erasure
from operators.recognizers.moonshine import bundled_model
from operators.recognizers.part import RECOGNIZERS, USUAL, RecognizerSettings, unobserved
from operators.recognizers.windowed import Samples, Segmenter, Window, WindowedRecognizer, silero
from operators.text import common_prefix

_WORDS = regex.compile(r"[\p{L}\p{N}']+")


class WindowUpdate(NamedTuple):
    """The result of one way of decoding for one window."""

    is_final: bool
    #: The text as decoded, and as shown at each requested certainty.
    text: str
    shown: tuple[str, ...]
    tokens: tuple[int, ...] = ()
    passes: int = 0
    decoder_s: float = 0.0
    #: Where the window ends in the recording.
    end_s: float = 0.0


class RecordingTrial(NamedTuple):
    """One recording, decoded in all ways."""

    #: The updates of each way.
    ways: tuple[list[WindowUpdate], ...]
    #: Seconds of the voice detector, and of the encoder for all updates, which all ways share.
    detector_s: float
    encoder_s: float


def bench_speech(job: BenchJob, settings: RecognizerSettings, spoken: str, grid: Grid) -> None:
    """Measure a recogniser on recordings, and publish the rows.

    Args:
        spoken: Name or code of the spoken language.
        grid: Values of ``bias`` and ``certainty``.

    Raises:
        SurtitleError: if that cannot be done.
    """
    windowed = [one.name for one in RECOGNIZERS.values() if one.is_windowed]
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
    check_recognizer(settings, spoken=spoken, is_live=False)
    with running() as runner:
        recognizer = make_recognizer(settings, spoken=spoken, observe=unobserved)
        assert isinstance(recognizer, WindowedRecognizer), "it says so"
        trials = [
            _trial(recognizer, samples(clip), methods, certainties, settings.update_interval_s)
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
        margin=recognizer.margin,
        aggregation="wer,ne:pooled|times:mean-over-updates,ways-in-turns",
    )
    publish(Results(signature, rows, tables(rows)), json=job.json, markdown=job.markdown)


class _Way:
    """One way of decoding, and the state of its open utterance."""

    def __init__(
        self, engine: WindowedRecognizer, method: SpeechMethod, certainties: Sequence[float]
    ) -> None:
        self._engine = engine
        self._method = method
        self._certainties = certainties
        self.updates: list[WindowUpdate] = []
        self._begin()

    def _begin(self) -> None:
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
        passes, end_s = output.cost.passes, window.end / SAMPLE_RATE
        shown = tuple(self._shown)
        self.updates.append(
            WindowUpdate(window.is_final, text, shown, output.tokens, passes, decoder_s, end_s)
        )
        if window.is_final:
            self._begin()


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
    ways = [_Way(engine, method, certainties) for method in methods]
    encoder_s = 0.0
    for number, window in enumerate(windows):
        began = perf_counter()
        encoded = engine.encode(window.samples)
        encoder_s += perf_counter() - began
        first = number % len(ways)
        for way in [*ways[first:], *ways[:first]]:
            way.decode(window, encoded.again())
    return RecordingTrial(tuple(way.updates for way in ways), detector_s, encoder_s)


#: For each recording the updates as a viewer saw them: the text of ``shown`` is one.
Viewed = Sequence[Sequence[tuple[WindowUpdate, str]]]


def rows_of(
    trials: Sequence[RecordingTrial],
    methods: Sequence[SpeechMethod],
    certainties: Sequence[float],
    references: Sequence[str | None],
) -> list[Row]:
    """A row for each method, as decoded and at each certainty; the first method decodes from scratch."""
    rows = []
    for number, method in enumerate(methods):
        times = _times(trials, number)
        for place, least in enumerate((None, *certainties), start=-1):
            # Words that were not decoded because they would be hidden cannot be shown at another certainty.
            if method.stop_below not in (0, least):
                continue
            viewed = [
                [(one, one.text if least is None else one.shown[place]) for one in trial.ways[number]]
                for trial in trials
            ]
            settings = {
                "method": "draft" if method.use_draft else "scratch",
                "bias": method.bias if method.use_draft else None,
                "certainty": least,
                "ends_early": method.stop_below > 0,
            }
            metrics = {**times, "wer": _wer(viewed, references), **_stability(viewed)}
            rows.append({"settings": settings, "metrics": {**metrics, "settled_s": _settled_s(viewed)}})
    return rows


def _times(trials: Sequence[RecordingTrial], way: int) -> dict[str, Any]:
    own, scratch = ([one for trial in trials for one in trial.ways[number]] for number in (way, 0))
    shared_s = sum(trial.detector_s + trial.encoder_s for trial in trials)
    decoder_s, scratch_s = (sum(one.decoder_s for one in updates) for updates in (own, scratch))
    return {
        "updates": len(own),
        "decoder_ms": 1000 * decoder_s / max(1, len(own)),
        # Of the voice detector, the encoder and the decoder.
        "recognizer_ms": 1000 * (shared_s + decoder_s) / max(1, len(own)),
        "decoder_ratio": decoder_s / scratch_s if scratch_s else None,
        "recognizer_ratio": (shared_s + decoder_s) / (shared_s + scratch_s) if scratch_s else None,
        "passes_per_update": sum(one.passes for one in own) / max(1, len(own)),
        "finals": sum(one.is_final for one in own),
        "finals_equal": sum(
            one.is_final and one.tokens == other.tokens for one, other in zip(own, scratch, strict=True)
        ),
    }


def _wer(viewed: Viewed, references: Sequence[str | None]) -> float | None:
    """The word error rate in per cent, pooled over the recordings with a reference."""
    errors = words = 0
    for updates, reference in zip(viewed, references, strict=True):
        if reference is not None:
            spoken = spoken_words(reference)
            heard = spoken_words(" ".join(one.text for one, _ in updates if one.is_final))
            errors += word_errors(spoken, heard)
            words += len(spoken)
    return 100 * errors / words if words else None


def spoken_words(text: str) -> tuple[str, ...]:
    """The words of a text in lower case, without punctuation; a hyphenated word is two words."""
    return tuple(_WORDS.findall(text.lower().replace("’", "'")))


def word_errors(said: Sequence[str], heard: Sequence[str]) -> int:
    """The fewest substitutions, insertions and deletions that turn ``said`` into ``heard`` (Levenshtein)."""
    row = list(range(len(heard) + 1))
    for number, word in enumerate(said, start=1):
        before, row[0] = row[0], number
        for place, other in enumerate(heard, start=1):
            before, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, before + (word != other))
    return row[-1]


def _stability(viewed: Viewed) -> dict[str, float]:
    partials = [(one, shown) for updates in viewed for one, shown in updates if not one.is_final]
    held = sum(len(one.text.split()) - len(shown.split()) for one, shown in partials)
    ne, revising = _erased(viewed, lambda text: tuple(text.split()))
    ne_words, revising_words = _erased(viewed, spoken_words)
    return {
        "ne": ne,
        "revising_share": revising,
        "ne_words": ne_words,
        "revising_share_words": revising_words,
        "held_back": held / max(1, len(partials)),
    }


def _erased(viewed: Viewed, split: Callable[[str], tuple[str, ...]]) -> tuple[float, float]:
    """Erased words per word of the finals, and the share of updates that erase any."""
    erased, length = list[int](), 0
    for updates in viewed:
        before: tuple[str, ...] = ()
        for one, shown in updates:
            words = split(shown)
            erased.append(erasure(before, words))
            length += len(words) if one.is_final else 0
            before = () if one.is_final else words
    return sum(erased) / max(1, length), sum(map(bool, erased)) / max(1, len(erased))


def _settled_s(viewed: Viewed) -> float:
    """The mean over all words of the finals, ignoring case and punctuation, of the time until it is settled.

    A word is settled when every later update shows it, and all words before it, unchanged. The time is that
    from the utterance's first update.
    """
    waited: list[float] = []
    for updates in viewed:
        open_: list[tuple[float, tuple[str, ...]]] = []
        for one, shown in updates:
            open_.append((one.end_s, spoken_words(shown)))
            if one.is_final:
                waited += _settled(open_)
                open_ = []
    return sum(waited) / max(1, len(waited))


def _settled(shown: Sequence[tuple[float, tuple[str, ...]]]) -> list[float]:
    """For each word of the last text, the seconds until it is settled; ``shown`` has time and words."""
    begin_s, words = shown[0][0], shown[-1][1]
    settled_s = [shown[-1][0]] * len(words)
    least = len(words)
    for end_s, before in reversed(shown):
        least = min(least, common_prefix(before, words))
        settled_s[:least] = [end_s] * least
    return [end_s - begin_s for end_s in settled_s]


def tables(rows: Sequence[Row]) -> list[Table]:
    """The tables of times and of what is shown."""
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
