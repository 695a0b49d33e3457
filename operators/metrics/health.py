"""The health of a run: captions must come while there is speech. Pure except for its clock.

Silence is healthy. A run is unhealthy if a partial waits too long for its caption, if sound yields no
recognised text, if a source stops delivering, or if the microphone or the broadcast is missing.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

State = Literal["starting", "ok", "over", "failing"]
Cause = Literal["captions_stalled", "no_answers", "nothing_recognized", "source_stalled", "source_lost"]


class Rule(NamedTuple):
    #: Maximum seconds that a partial waits for a caption, and that a source delivers nothing.
    stall_s: float = 10.0
    #: Seconds of sound without any recognised text that are allowed; 0 for no limit, for music.
    unheard_s: float = 30.0
    #: Peak level in dBFS above which there is sound.
    silence_dbfs: float = -40.0


class Verdict(NamedTuple):
    state: State
    #: Why it is failing: as a code, and as a sentence.
    cause: Cause | None = None
    reason: str | None = None

    @property
    def is_well(self) -> bool:
        return self.state in ("ok", "over")


class Health:
    """Health of a run, from its stages' reports; ``now`` is a monotonic clock. For one thread at a time."""

    def __init__(self, rule: Rule, now: Callable[[], float]) -> None:
        self._rule = rule
        self._now = now
        self._is_ready = False
        #: Whether the input has ended as expected.
        self.is_over = False
        self._loading = 0
        #: For each waiting segment: since when, and its newest revision.
        self.waiting: dict[str, tuple[float, int]] = {}
        self._last_caption_at = self._last_sound_at = 0.0
        #: Since the model's last answer: the times of the first and the last update without an answer.
        self._no_answers: tuple[float, float] | None = None
        #: When a source last delivered something; None while no source is expected to.
        self._source_at: float | None = None
        self._unheard_s = 0.0
        #: The message about a source that disappeared; its next sound means that it is back.
        self.lost: str | None = None
        #: The last message of a recogniser since its last partial.
        self.trouble: str | None = None

    def ready(self) -> None:
        """The run begins: delays are measured from now on."""
        self._is_ready = True
        self.loads(0)

    def loads(self, more: int) -> None:
        """Change the number of models that are being loaded; loading may take any time."""
        self._loading += more
        self._last_caption_at = self._now()
        if self._source_at is not None:
            self._source_at = self._last_caption_at

    def audio(self, duration_s: float, peak_dbfs: float, *, is_live: bool, is_last: bool = False) -> None:
        """A source delivered sound. Only live sound comes in real time."""
        now = self._now()
        self.lost = None
        self._source_at = None if is_last else now
        if is_live and peak_dbfs > self._rule.silence_dbfs:
            self._unheard_s += duration_s
            self._last_sound_at = now
        elif now - self._last_sound_at > self._rule.unheard_s:
            self._unheard_s = 0.0

    def partial(self, key: str, revision: int) -> None:
        """A hypothesis of a segment arrived; its caption will follow."""
        self._unheard_s = 0.0
        self.trouble = None
        since, _ = self.waiting.get(key, (self._now(), 0))
        self.waiting[key] = since, revision

    def caption(self, key: str, revision: int, *, is_answer: bool = True) -> None:
        """The caption of a revision was shown; if the model gave no answer, it is the old caption."""
        now = self._last_caption_at = self._now()
        first, last = self._no_answers or (now, now)
        first = first if now - last <= self._rule.stall_s else now
        self._no_answers = None if is_answer else (first, now)
        self._unheard_s = 0.0
        _, newest = self.waiting.pop(key, (now, revision))
        if newest > revision:
            self.waiting[key] = now, newest

    def verdict(self) -> Verdict:
        if self.is_over:
            return Verdict("over")
        if self._loading or not self._is_ready:
            return Verdict("starting")
        failing = self._failing(self._now())
        return Verdict("ok") if failing is None else Verdict("failing", *failing)

    def _failing(self, now: float) -> tuple[Cause, str] | None:
        stall_s, unheard_s = self._rule.stall_s, self._rule.unheard_s
        if self.lost is not None:
            return "source_lost", self.lost
        since = min((since for since, _ in self.waiting.values()), default=now)
        waited_s = now - max(since, self._last_caption_at)
        if waited_s > stall_s:
            return "captions_stalled", f"no caption for {waited_s:.0f} s despite speech"
        first, last = self._no_answers or (now, now)
        if last - first > stall_s:
            return "no_answers", f"the model gave no answer for {last - first:.0f} s"
        silent_s = 0.0 if self._source_at is None else now - self._source_at
        if silent_s > stall_s:
            return "source_stalled", f"no sound was received for {silent_s:.0f} s"
        trouble = ""
        if self.trouble is not None:
            unheard_s = min(stall_s, unheard_s)
            trouble = f"; the recogniser's last message was: {self.trouble}"
        if unheard_s and self._unheard_s > unheard_s:
            reason = f"nothing was recognised in {self._unheard_s:.0f} s of sound"
            return "nothing_recognized", reason + trouble
        return None
