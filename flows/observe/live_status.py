"""What a live run tells of itself while it runs: whether it hears something, how loud, how late it is."""

import math
from collections.abc import Callable

from connectors.messages.log import tell
from connectors.terminal.screen import Screen
from connectors.view.status import Status
from operators.events import AudioChunk, ErasureRecord
from operators.level import level
from operators.losses import Losses

# For how long a partial is a sign that somebody speaks.
_SPEECH_S = 1.5
# The meter falls by so much a second: what is loud stays to be seen.
_FALL_DB_PER_S = 30.0


class LiveStatus:
    """Puts together the status line of a live run, from what its stages see."""

    def __init__(
        self,
        screen: Screen,
        now: Callable[[], float],
        show: Callable[[Status, str | None], None] = lambda _status, _sentence: None,
    ) -> None:
        """``now`` gives the present on the stream's clock, in seconds.

        ``show`` gets each status as well, and the sentence about what is wrong while something is.
        """
        self._screen = screen
        self._now = now
        self._tell = show
        self._sentence: str | None = None
        #: Sound that was not heard, so far.
        self.losses = Losses()
        self._is_absent = False
        self._is_troubled = False
        # Files that cannot be written for now.
        self._late_files: set[str] = set()
        self._level_dbfs = -math.inf
        self._heard_s = 0.0
        self._spoken_s = -math.inf
        self._lag_s: float | None = None
        self._overtaken = 0

    def hear(self, chunk: AudioChunk) -> AudioChunk:
        """Take note of a chunk, and hand it on."""
        self._is_absent = False
        end_s = chunk.start_s + chunk.duration_s
        fallen = self._level_dbfs - _FALL_DB_PER_S * max(0.0, end_s - self._heard_s)
        self._level_dbfs, self._heard_s = max(level(chunk.pcm).peak_dbfs, fallen), end_s
        self._show()
        return chunk

    def caption(self, record: ErasureRecord) -> None:
        """Take note of a caption."""
        self._is_troubled = False
        self._spoken_s = -math.inf if record.is_final else self._now()
        self._lag_s = record.latency_from_speech_s
        self._overtaken += record.overtaken

    def lose(self, losses: Losses) -> None:
        """Take note of sound that was lost: all of it, so far."""
        self.losses = losses

    def microphone(self, sentence: str) -> None:
        """Tell of a microphone that has gone, or is back; the next chunk says that it is there."""
        tell("microphone_changed", sentence)
        self._sentence = sentence
        self._is_absent = True
        self._show()

    def recognizer(self, sentence: str) -> None:
        """Tell what happens to the recogniser, on any thread; the next caption says that it works."""
        tell("recognizer_changed", sentence)
        self._sentence = sentence
        self._is_troubled = True

    def output(self, path: str, sentence: str, is_late: bool) -> None:
        """Tell of a file that cannot be written for now, or is again."""
        tell("write_failed" if is_late else "write_recovered", sentence, output=path)
        (self._late_files.add if is_late else self._late_files.discard)(path)

    def _show(self) -> None:
        now_s = self._now()
        state = "speech" if now_s - self._spoken_s < _SPEECH_S else "listening"
        if self._is_troubled:
            state = "waiting for the recogniser"
        if self._is_absent:
            state = "no microphone"
        status = Status(
            state=state,
            level_dbfs=self._level_dbfs,
            elapsed_s=now_s,
            lag_s=self._lag_s,
            dropped_s=self.losses.lost_s,
            overtaken=self._overtaken,
        )
        self._screen.status(status)
        is_wrong = self._is_absent or self._is_troubled
        # Viewers elsewhere need not know what files there are on this machine.
        late = "a file of this run cannot be written for now" if self._late_files else None
        self._tell(status, self._sentence if is_wrong else late)
