"""The sentences stage: turns partials of a recogniser's segments into partials of sentences."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from bytewax import operators as op
from bytewax.dataflow import Stream, operator
from bytewax.operators import KeyedStream
from msgspec.structs import replace
from typing_extensions import override

from operators.events import Partial
from operators.sentences.joining import Sentences, SentencesState
from operators.stages.recognize import Heard, Pause, Renamed, Speech
from operators.stages.snapshots import StreamLogic, unpack

# Bytewax uses the wall clock, which may be set, so the stage checks its own clock at least this often.
_LOOK_S = 0.25

#: Makes the `Sentences` of a stream, given its state.
MakeSentences = Callable[[SentencesState], Sentences]


@operator
def join_sentences(
    step_id: str,  # noqa: ARG001 - Bytewax scopes the steps inside by it
    up: Stream[Heard],
    make: MakeSentences | None,
    now: Callable[[str], float] | None = None,
    ended: Callable[[str, int], None] = lambda _stream, _sentences: None,
    goes_on_later: Callable[[], bool] = lambda: False,
) -> Stream[Partial]:
    """Join the segments of each stream into sentences.

    Partials with ``is_sentence`` pass unchanged, and all resulting partials have it. A pause of the sound,
    the end of a stream and the end of the input end the open sentence. The snapshot holds the open sentence,
    so a resumed run continues it.

    Args:
        up: Partials of any number of streams and the pauses of their sound; those of one stream in order.
        make: Makes the `Sentences` of a stream; None if each segment counts as a sentence.
        now: The current time on the clock of a stream, given its name, in seconds, for live speech: a
            sentence then ends as soon as the pause after it is long enough. Without it, a sentence ends when
            the next partial comes.
        ended: Called with the name of a stream that is over, and the number of its sentences.
        goes_on_later: Whether the input ends only because the run was stopped and will be resumed: then
            sentences stay open.
    """

    def build(resume: bytes | None) -> _Stream:
        state = None if resume is None else unpack(resume, SentencesState)
        return _Stream(make, now, ended, goes_on_later, state)

    keyed: KeyedStream[Heard] = op.key_on("key", up, lambda one: one.stream)
    return op.key_rm("unkey", op.stateful_batch("stream", keyed, build))


class _Stream(StreamLogic[Heard, Partial, SentencesState]):
    def __init__(
        self,
        make: MakeSentences | None,
        now: Callable[[str], float] | None,
        ended: Callable[[str, int], None],
        goes_on_later: Callable[[], bool],
        state: SentencesState | None,
    ) -> None:
        # The name of a new stream is known with its first event.
        super().__init__(state or SentencesState(""))
        self._make = make
        self._now = now
        self._ended = ended
        self._goes_on_later = goes_on_later
        self._sentences = make(state) if make and state else None
        self._is_over = state is None

    @override
    def take(self, event: Heard) -> list[Partial]:
        if self._is_over:
            # A stream with the name of one that is over is a new one.
            self.state, self._is_over = SentencesState(event.stream), False
            self._sentences = self._make(self.state) if self._make else None
        if isinstance(event, Pause):
            done = [] if self._sentences is None else self._sentences.end(event.arrival_s)
            if event.is_last:
                self._ended(event.stream, self.state.ended)
                self._is_over = True
            return done
        if isinstance(event, Speech):
            if self._sentences is not None:
                self._sentences.speech(event.end_s)
            return []
        if isinstance(event, Renamed):
            if self._sentences is not None:
                self._sentences.rename(event.label, event.name)
            return []
        if event.is_sentence or self._sentences is None:
            self.state.ended += event.is_final
            return [replace(event, is_sentence=True)]
        return self._sentences.hear(event)

    @override
    def is_done(self) -> bool:
        return self._is_over

    @override
    def on_notify(self) -> tuple[list[Partial], bool]:
        left_s = self._left_s()
        if self._sentences is None or left_s is None:
            return super().on_notify()
        return self._sentences.end() if left_s <= 0 else [], self.RETAIN

    @override
    def notify_at(self) -> datetime | None:
        left_s = self._left_s()
        if left_s is None:
            return super().notify_at()
        return datetime.now(UTC) + timedelta(seconds=min(max(left_s, 0.0), _LOOK_S))

    def _left_s(self) -> float | None:
        """Seconds until the last sentence ends without further speech; None if no sentence waits."""
        due_s = self._sentences.due_s if self._sentences else None
        return None if due_s is None or self._now is None else due_s - self._now(self.state.stream)

    @override
    def on_eof(self) -> tuple[list[Partial], bool]:
        # Only a `Pause` with ``is_last`` ends a stream, because a later run may continue it.
        if self._sentences is None or self._goes_on_later():
            return [], self.RETAIN
        return self._sentences.end(), self.RETAIN
