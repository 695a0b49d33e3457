"""How loud the sound of a run was, which tells why there are few captions or none."""

import math
from pathlib import Path

from flows.settings.schema import Settings
from operators.languages import language
from operators.observed import Observed, SoundHeard
from operators.sound import level


class Heard:
    """Measures the sound of a run."""

    takes = frozenset({SoundHeard})

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._seconds = 0.0
        self._peak_dbfs = -math.inf

    def observe(self, event: Observed) -> None:
        """Measure a chunk."""
        if isinstance(event, SoundHeard):
            self._seconds += event.chunk.duration_s
            self._peak_dbfs = max(self._peak_dbfs, level(event.chunk.pcm).peak_dbfs)

    def complaint(self, updates: int) -> str | None:
        """Why a run of so many updates has few captions or none, and what to do; None if nothing is odd."""
        if not self._seconds:
            return None if updates else "there was nothing to caption"
        what, peak = _source(self._settings), f"{self._peak_dbfs:.0f} dBFS at its loudest"
        if self._peak_dbfs == -math.inf and not updates:
            return f"{what} is silent, so there are no captions; {self._remedy('record or export it again')}"
        if self._peak_dbfs < self._settings.metrics.silence_dbfs:
            missing = "words may be missing" if updates else "nothing was recognised"
            return f"{what} is so quiet, {peak}, that {missing}; {self._remedy(_louder(Path(what)))}"
        if updates:
            return None
        spoken = language(self._settings.translate.source).name
        return f"nothing was recognised in {what}; check that somebody speaks there, in {spoken} (--from)"

    def _remedy(self, of_recording: str) -> str:
        if self._settings.input.audio:
            return of_recording
        return "check that it is not muted, and whether `surtitle devices` lists another one"


def _source(settings: Settings) -> str:
    given = settings.input
    return given.audio or ("the microphone" if given.microphone else "the sound of the rooms")


def _louder(path: Path) -> str:
    return f"make it louder, for instance with `ffmpeg -i {path.name} -af loudnorm {path.stem}-loud.wav`"
