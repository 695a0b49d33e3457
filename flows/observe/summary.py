"""The summary of a run, accumulated while it runs."""

import math
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from time import perf_counter

from connectors.audio import recording
from connectors.files.output import inherited
from connectors.jsonl.files import read_events
from flows.settings.schema import Settings
from operators.addresses import is_address
from operators.events import ErasureRecord
from operators.languages import language
from operators.metrics.health import Rule
from operators.metrics.summary import Durations, Summary, SummaryMeter
from operators.notifications import Missing, Observed, SoundHeard, SoundLost, SpeechCut, UpdateMeasured
from operators.secret import to_plain
from operators.sound import peak_dbfs


class SoundLevels:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._seconds = 0.0
        self._peak_dbfs = -math.inf

    def observe(self, event: Observed) -> None:
        if isinstance(event, SoundHeard):
            self._seconds += event.chunk.duration_s
            self._peak_dbfs = max(self._peak_dbfs, peak_dbfs(event.chunk.pcm))

    def complaint(self, updates: int) -> str | None:
        """Why there are few or no ``updates``, and what to do; None if nothing is unusual."""
        if not self._seconds:
            return None if updates else "there was nothing to caption"
        what, peak = _source(self._settings), f"{self._peak_dbfs:.0f} dBFS at its loudest"
        if self._peak_dbfs == -math.inf and not updates:
            return f"{what} is silent, so there are no captions; {self._remedy('record or export it again')}"
        if self._peak_dbfs < Rule().silence_dbfs:
            missing = "words may be missing" if updates else "nothing was recognised"
            return f"{what} is so quiet, {peak}, that {missing}; {self._remedy(_louder(Path(what)))}"
        if updates:
            return None
        spoken = " or ".join(language(one).name for one in self._settings.translate.sources)
        return f"nothing was recognised in {what}; check that somebody speaks there, in {spoken} (--from)"

    def _remedy(self, of_recording: str) -> str:
        if self._settings.input.audio:
            return of_recording
        return (
            "check that it is not muted, that the system's settings allow this program to use it, "
            "and whether `surtitle devices` lists another one"
        )


def _source(settings: Settings) -> str:
    given = settings.input
    if given.recordings:
        return recording.shown(given.recordings[0])
    if given.microphone and is_address(given.microphone):
        return recording.shown(given.microphone)
    return "the microphone" if given.microphone else "the sound of the rooms"


def _louder(path: Path) -> str:
    return f"make it louder, for instance with `ffmpeg -i {path.name} -af loudnorm {path.stem}-loud.wav`"


class Profile:
    """Measures the seconds between two updates that no forward pass accounts for."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._last_s: float | None = None
        #: The seconds of each update but the first.
        self.overheads = Durations()

    def observe(self, event: Observed) -> None:
        if not isinstance(event, UpdateMeasured):
            return
        with self._lock:
            now_s = perf_counter()
            if self._last_s is not None:
                self.overheads.add(now_s - self._last_s - event.record.effort.model_s)
            self._last_s = now_s


class RunSummary:
    """Accumulates updates and losses for the closing summary."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = Lock()
        self._meter = SummaryMeter()
        self._lost = SoundLost()
        self._cut = 0

    def observe(self, event: Observed) -> None:
        match event:
            case UpdateMeasured(record):
                with self._lock:
                    self._meter.add(record)
            case SoundLost():
                self._lost = event
            case SpeechCut():
                with self._lock:
                    self._cut += 1

    def summary(self, missing: Sequence[Missing] = (), logs: Sequence[Path] = ()) -> Summary:
        """The summary so far; if the erasure logs of all languages can be read, that of the whole logs.

        ``missing`` lists the records that the output files lack.
        """
        meter, lacking = self._meter, [Path(one.path) for one in missing]
        # A pipe, a device or standard output cannot be read back.
        if logs and all(log.is_file() and inherited(log) is None and log not in lacking for log in logs):
            meter = SummaryMeter()
            for log in logs:
                for record in read_events(log, ErasureRecord):
                    meter.add(record)
        settings = to_plain(self._settings)
        lost_s, absent_s = self._lost.lost_s, self._lost.absent_s
        with self._lock:
            return meter.summary(settings, lost_s=lost_s, absent_s=absent_s, cut=self._cut, missing=missing)
