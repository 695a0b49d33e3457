"""The status line of a live run: whether there is sound, how loud it is, and how late captions are."""

import math
from threading import Lock

from connectors.terminal import Screen
from connectors.view import Status
from flows.observe.audience import Audience
from operators.notifications import (
    LoadingBegan,
    LoadingEnded,
    Observed,
    OutputChanged,
    RecognizerChanged,
    RecordingAt,
    SoundHeard,
    SoundLost,
    SourceChanged,
    UpdateMeasured,
)
from operators.sound import peak_dbfs

# Seconds after a partial during which somebody counts as speaking.
_SPEECH_S = 1.5
# The meter falls by this much per second, so that peaks stay visible.
_FALL_DB_PER_S = 30.0


class RecordingProgress:
    """Shows the position in a recording as the status of a screen."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def observe(self, event: Observed) -> None:
        if isinstance(event, RecordingAt):
            state, duration_s = "translating the recording", event.duration_s or None
            self._screen.status(Status(state=state, elapsed_s=event.position_s, duration_s=duration_s))


class StatusLine:
    """Shows the status on the screen and to viewers whenever there is sound or its source changes.

    Args:
        absent: The state while nothing is connected.
    """

    def __init__(self, screen: Screen, audience: Audience | None, absent: str = "no microphone") -> None:
        self._screen = screen
        self._audience = audience
        self._absent = absent
        self._lock = Lock()
        self._now_s = 0.0
        self._wrong = ""
        self._lost_s = 0.0
        self._is_absent = False
        self._is_troubled = False
        # Files that currently cannot be written.
        self._late_files: set[str] = set()
        self._level_dbfs = -math.inf
        self._heard_s = 0.0
        self._spoken_s = -math.inf
        self._lag_s: float | None = None
        self._overtaken = 0
        # Number of models that are being loaded.
        self._loading = 0

    def observe(self, event: Observed) -> None:
        with self._lock:
            self._record(event)
            status, sentence = self.status, self.sentence
        if isinstance(event, SoundHeard | SourceChanged):
            self._screen.status(status)
        elif not isinstance(event, LoadingBegan | LoadingEnded):
            # While models are loaded, the terminal shows a progress line.
            return
        if self._audience is not None:
            self._audience.status(status, sentence)

    def _record(self, event: Observed) -> None:
        match event:
            case LoadingBegan():
                self._loading += 1
            case LoadingEnded():
                self._loading -= 1
            case SoundHeard(chunk, at_s):
                self._is_absent, self._now_s = False, at_s
                end_s = chunk.start_s + chunk.duration_s
                fallen = self._level_dbfs - _FALL_DB_PER_S * max(0.0, end_s - self._heard_s)
                self._level_dbfs, self._heard_s = max(peak_dbfs(chunk.pcm), fallen), end_s
            case SoundLost(lost_s):
                self._lost_s = lost_s
            case SourceChanged(sentence, at_s):
                self._wrong, self._is_absent, self._now_s = sentence, True, at_s
            case RecognizerChanged(sentence):
                self._wrong, self._is_troubled = sentence, True
            case UpdateMeasured(record, at_s):
                self._is_troubled = False
                self._spoken_s = -math.inf if record.is_final else at_s
                self._lag_s = record.latency_from_speech_s
                self._overtaken += record.overtaken
            case OutputChanged(path, _, is_late):
                (self._late_files.add if is_late else self._late_files.discard)(path)

    @property
    def status(self) -> Status:
        """The status at the last sound or source change."""
        state = "speech" if self._now_s - self._spoken_s < _SPEECH_S else "listening"
        if self._loading:
            state = "loading models"
        if self._is_troubled:
            state = "waiting for the recogniser"
        if self._is_absent:
            state = self._absent
        return Status(
            state=state,
            level_dbfs=self._level_dbfs,
            elapsed_s=self._now_s,
            lag_s=self._lag_s,
            dropped_s=self._lost_s,
            overtaken=self._overtaken,
        )

    @property
    def sentence(self) -> str | None:
        """The current problem, as a sentence for viewers."""
        if self._is_absent or self._is_troubled:
            return self._wrong
        # Remote viewers need not know the names of files on this machine.
        return "a file of this run can no longer be written" if self._late_files else None
