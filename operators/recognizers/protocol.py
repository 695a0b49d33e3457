"""The contract between speech engines and the recognize stage."""

from collections.abc import Sequence, Set
from typing import Protocol, runtime_checkable

import msgspec

from operators.events import AudioChunk


class Hypothesis(msgspec.Struct, frozen=True, kw_only=True):
    """A recogniser's current text for a segment."""

    #: The recogniser's own number of the segment; larger for later speech. Numbers may be skipped.
    segment: int
    #: Recognised text of the whole segment so far. A segment begins with its first text.
    text: str
    #: True if the recogniser will not revise this segment again.
    is_final: bool
    #: Start of the segment's speech, in seconds on the clock of the chunks' ``start_s``.
    start_s: float
    #: End of the audio that the text covers; never beyond the accepted audio.
    end_s: float
    #: True for a final of which nothing is shown, because its text is probably invented.
    is_doubtful: bool = False


class Recognizer(Protocol):
    """One stream's speech engine: audio in, hypotheses out, in the order of their creation.

    Every hypothesis replaces the segment's text so far. An unchanged one need not be repeated. Each segment
    that had a text gets one final, at `finish` at the latest.
    """

    def accept(self, chunk: AudioChunk) -> Sequence[Hypothesis]:
        """Process a chunk; chunks come in order and (nearly) without gaps."""
        ...

    def finish(self) -> Sequence[Hypothesis]:
        """The audio is over: return the remaining hypotheses, including a final for each open segment."""
        ...

    def close(self) -> None:
        """Free the engine's resources; called once, as the last call."""
        ...


@runtime_checkable
class Expects(Protocol):
    """A recogniser that may be told what will be said."""

    def expect(self, words: Set[str]) -> None:
        """Lean towards these words where they are names; called before any sound."""
        ...
