"""Turns captions into cues: a final becomes subtitles as soon as its duration is known."""

from collections.abc import Iterable
from typing import Literal

import msgspec
from msgspec.structs import replace

from operators.events import Caption, Partial
from operators.languages import Direction
from operators.speakers import Turns, shown_name
from operators.subtitles.breaking import CueText, Text, split
from operators.subtitles.timing import GAP_MS, MAX_CUE_MS, Cue, Speech, SpeechProgress, place
from operators.text import cleaned

Shown = Literal["source", "target", "both"]

# Milliseconds of silence after a cue, on the stream's clock, after which its duration is certain.
_SILENCE_MS = 5_000
# Characters per second of the fastest speech; text that seems faster was spoken before and recognised later.
_FASTEST = 30
# Maximum number of times kept per sentence, and of unfinished sentences with such times.
_TIMES, _OPEN = 100, 16
# Columns of a dash before the text.
_DASH = 2


class Final(msgspec.Struct, frozen=True):
    source: str
    target: str
    start_s: float
    end_s: float
    #: The progress of the speech.
    heard: tuple[SpeechProgress, ...] = ()
    #: The name of the speaker; empty if unknown.
    speaker: str = ""
    #: Whether the speaker has changed.
    is_turn: bool = False

    @property
    def speech(self) -> Speech:
        return Speech.at(self.start_s, self.end_s)._replace(heard=self.heard)


class WriterState(msgspec.Struct, frozen=True):
    #: When the screen becomes free.
    free_ms: int = 0
    #: The final that waits for the next caption.
    held: Final | None = None
    #: The progress of each unfinished segment, by its stream and number.
    heard: dict[str, tuple[SpeechProgress, ...]] = {}
    #: The last speaker, as in `Turns`.
    speaker: str = ""


class SubtitleWriter:
    """Turns finals into complete cues, in the order of time; a cue never changes.

    Cues are shown during their speech, so the maximum duration of one is known only when the next speech
    begins. So each final is held until the first caption after it, finished or not, or until the end. After
    five seconds of silence `due_s` has passed, and the final may be released at once. This affects the time
    when a cue is written, but not its content, unless speech is recognised more than five seconds after it
    began.

    Args:
        shown: The text to show: source, translation (target) or both.
        direction: From the language of the source to that of the translation. Their scripts decide the length
            of lines and the reading speed.
        state: The state of an earlier writer.
    """

    def __init__(self, shown: Shown, direction: Direction, state: WriterState | None = None) -> None:
        state = state or WriterState()
        self._shown = shown
        self._direction = direction
        self._language = direction.source if shown == "source" else direction.target
        self._turns = Turns(state.speaker)
        self._free_ms, self._held, self._heard = state.free_ms, state.held, dict(state.heard)
        self._blocks = self._blocks_of(self._held)

    @property
    def state(self) -> WriterState:
        return WriterState(self._free_ms, self._held, dict(self._heard), self._turns.last)

    def take(self, captions: Iterable[Caption | Partial]) -> list[Cue]:
        """The cues that are complete after further captions of any stream; partials only time the speech."""
        return [cue for caption in captions for cue in self._take(caption)]

    def release(self) -> list[Cue]:
        """The cues that are still held at the end."""
        return self._settle(None)

    @property
    def due_s(self) -> float | None:
        """When silence completes the held final, in seconds on the stream's clock; None if none is held."""
        if self._held is None:
            return None
        speech = self._held.speech
        last = place(self._blocks, speech, self._free_ms, None)[-1]
        heard = (times[-1].at_ms for times in self._heard.values())
        return (max(last.end_ms, speech.end_ms, *heard) + _SILENCE_MS) / 1000

    def _take(self, caption: Caption | Partial) -> list[Cue]:
        if isinstance(caption, Partial):
            self._hear(caption, caption.text)
            return []
        final = Final(
            source=cleaned(caption.source) if self._shown != "target" else "",
            target=cleaned(caption.text) if self._shown != "source" else "",
            start_s=caption.start_s,
            end_s=caption.end_s,
            heard=self._hear(caption, caption.source),
            speaker=shown_name(caption.speaker, self._language),
        )
        if not (final.source.strip() or final.target.strip()):
            return []
        settled = self._settle(final.speech.start_ms)
        if caption.is_final:
            is_first = not self._turns.last
            final = replace(final, is_turn=self._turns.begins(caption) and not is_first)
            self._held, self._blocks = final, self._blocks_of(final)
        return settled

    def _hear(self, caption: Caption | Partial, source: str) -> tuple[SpeechProgress, ...]:
        """Record the progress of a segment's speech; revised text may get a new time."""
        speech, amount = Speech.at(caption.start_s, caption.end_s), len(source)
        # Not `caption.key`, because captions of several languages include the language and partials do not.
        key = f"{caption.stream}/{caption.segment}"
        known = [
            one
            for one in self._heard.pop(key, ())
            if 0 < amount - one.amount <= _FASTEST * (speech.end_ms - one.at_ms) / 1000
            and speech.start_ms <= one.at_ms
        ]
        heard = (*known[-_TIMES:], SpeechProgress(amount, speech.end_ms))
        if not caption.is_final:
            for oldest in list(self._heard)[: 1 - _OPEN]:
                del self._heard[oldest]
            self._heard[key] = heard
        return heard

    def _settle(self, next_ms: int | None) -> list[Cue]:
        if self._held is None:
            return []
        held = self._held
        first, *others = place(self._blocks, held.speech, self._free_ms, next_ms)
        cues = [first._replace(is_turn=held.is_turn), *others]
        self._free_ms, self._held = cues[-1].end_ms + GAP_MS, None
        return [cue._replace(speaker=held.speaker) for cue in cues]

    def _blocks_of(self, final: Final | None) -> list[CueText]:
        """The blocks of a final: as many as the duration of the speech and the length of the text allow."""
        if final is None:
            return []
        count = -(-(final.speech.end_ms - final.speech.start_ms) // MAX_CUE_MS)
        dash = _DASH if final.is_turn else 0
        scripts = (one.script for one in self._direction)
        both = zip((final.source, final.target), scripts, strict=True)
        texts = [Text(text, script.columns - dash, script.reading_speed) for text, script in both]
        return split(texts, max(1, count))
