"""The interface between speech engines and the recognize stage, and the numbering of hypotheses."""

import logging
import re
from collections.abc import Callable, Iterable, Sequence, Set
from typing import NamedTuple, Protocol, runtime_checkable

import msgspec

from operators.events import AudioChunk, Partial
from operators.text import cleaned

_log = logging.getLogger(__name__)


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
    #: True for a final whose text is not shown, because it is probably invented.
    is_doubtful: bool = False
    #: Code of the segment's language if the recogniser detects it; empty if only one language is spoken. It
    #: does not change within a segment.
    language: str = ""
    #: Who speaks, as `SegmentEvent.speaker`; empty if unknown. Recognisers may leave it empty.
    speaker: str = ""


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
class TakesWords(Protocol):
    """A recogniser with a bias towards words, such as the names of a glossary."""

    def expect(self, words: Set[str]) -> None:
        """Add a bias towards these words if they are names; called before any sound."""
        ...


class Span(NamedTuple):
    """A period on the stream's clock."""

    begin_s: float
    end_s: float


#: Where the voice changes in the sound between two times, in seconds; None if it does not.
Change = Callable[[float, float], Span | None]


@runtime_checkable
class PartsVoices(Protocol):
    """A recogniser that ends a segment where the voice changes, even without a pause."""

    def part(self, change: Change) -> None:
        """Use ``change`` to split open segments; called before any sound."""
        ...


# Speech models write repeated marks, and a comma or semicolon before another mark. Three dots are an
# ellipsis, and a dot before a digit may begin a number.
_REPEATED = re.compile(r"([!?。！？؟])\1+|(?<!\.)(\.)\.(?!\.)")
_OVERRULED = re.compile(r"[,;،؛、，；]+(?=[,;،؛、，；!?…。！？؟]|\.(?!\d))")
# Halves of a surrogate pair cannot be written as UTF-8, and NUL ends a string in C.
_UNWRITABLE = dict.fromkeys([0, *range(0xD800, 0xE000)])


def clean(text: str) -> str:
    """The text without lone surrogates, NULs and doubled punctuation, its white space made single spaces."""
    return _REPEATED.sub(r"\1\2", _OVERRULED.sub("", " ".join(text.translate(_UNWRITABLE).split())))


class NumberingState(msgspec.Struct, frozen=True, array_like=True):
    """The state of a stream between two chunks; small, and all that a snapshot needs."""

    #: Name of the stream.
    stream: str
    #: Number of the next segment.
    next_segment: int = 0
    #: The last partial of each segment that has no final yet, in the order of speech.
    unfinished: tuple[Partial, ...] = ()
    #: End of the audio received so far, on the stream's clock.
    heard_s: float = 0.0


class PartialNumbering:
    """Converts a stream's hypotheses to `Partial` events: numbers, clean text, and one final per segment.

    A segment begins with its first text, so numbers have no gaps. A final without text keeps the last text: a
    viewer has read it, and it is probably better than nothing; a doubtful final erases it. Hypotheses for a
    segment after its final are dropped with a warning, because they can no longer be shown.

    Args:
        state: The state of a new stream or of an earlier run. Segments that the earlier run left unfinished
            get their final from `finish_resumed`, because no recogniser will return to them.
    """

    def __init__(self, state: NumberingState) -> None:
        self.stream = state.stream
        #: End of the audio received so far; updated by the caller that feeds the recogniser.
        self.heard_s = state.heard_s
        self._next_segment = state.next_segment
        self._resumed = list(state.unfinished)
        self._open: dict[int, Partial] = {}
        # The recogniser's number of the newest segment.
        self._newest = -1

    @property
    def state(self) -> NumberingState:
        """The state that a later run needs to continue."""
        unfinished = (*self._resumed, *self._open.values())
        return NumberingState(self.stream, self._next_segment, unfinished, self.heard_s)

    def number(self, hypotheses: Iterable[Hypothesis], arrival_s: float) -> list[Partial]:
        """Partials for the hypotheses that differ from the last one; all arrive at ``arrival_s``."""
        partials = (self._number(hypothesis, arrival_s) for hypothesis in hypotheses)
        return [partial for partial in partials if partial is not None]

    def finish_resumed(self, arrival_s: float) -> list[Partial]:
        """A final, with its last text, for each segment that an earlier run left unfinished."""
        finals = [_as_final(partial, arrival_s) for partial in self._resumed]
        self._resumed.clear()
        return finals

    def finish(self, arrival_s: float) -> list[Partial]:
        """A final, with its last text, for each segment that has none yet."""
        finals = self.finish_resumed(arrival_s)
        finals += [_as_final(partial, arrival_s) for partial in self._open.values()]
        self._open.clear()
        return finals

    def rename(self, speaker: str, name: str) -> None:
        """Apply a speaker's new name also to the finals of `finish`."""
        self._resumed = [_renamed(one, speaker, name) for one in self._resumed]
        self._open = {number: _renamed(one, speaker, name) for number, one in self._open.items()}

    def _number(self, hypothesis: Hypothesis, arrival_s: float) -> Partial | None:
        last = self._open.get(hypothesis.segment)
        text = clean(hypothesis.text) or (last.text if last else "")
        if not text:
            return None
        if last is None and hypothesis.segment <= self._newest:
            _log.warning(
                "the recogniser continued a segment of %s after its end; its text from %.1f s on is left out",
                cleaned(self.stream),
                hypothesis.start_s,
                extra={"event": "hypothesis_dropped", "stream": self.stream},
            )
            return None
        partial = Partial(
            stream=self.stream,
            segment=last.segment if last else self._next_segment,
            revision=last.revision + 1 if last else 0,
            text="" if hypothesis.is_doubtful else text,
            is_final=hypothesis.is_final,
            start_s=hypothesis.start_s,
            end_s=max(hypothesis.start_s, min(hypothesis.end_s, self.heard_s)),
            arrival_s=arrival_s,
            spoken=hypothesis.language or msgspec.UNSET,
            speaker=hypothesis.speaker or msgspec.UNSET,
        )
        if last is None:
            self._next_segment += 1
            self._newest = hypothesis.segment
        if partial.is_final:
            self._open.pop(hypothesis.segment, None)
        elif last is not None and (text, partial.speaker) == (last.text, last.speaker):
            return None
        else:
            self._open[hypothesis.segment] = partial
        return partial


def _renamed(partial: Partial, speaker: str, name: str) -> Partial:
    return msgspec.structs.replace(partial, speaker=name) if partial.speaker == speaker else partial


def _as_final(partial: Partial, arrival_s: float) -> Partial:
    return msgspec.structs.replace(
        partial,
        revision=partial.revision + 1,
        is_final=True,
        arrival_s=max(partial.arrival_s, arrival_s),
    )
