"""Any recogniser, in a process of its own that can be replaced: what its engine leaks or breaks goes with it.

Each chunk is sent and its answer waited for, so the hypotheses are those of the engine in this process, at
the same chunks. That holds until the child is replaced: the fresh one begins with the audio after the last
final, and may cut and hear it a little differently.
"""

from collections.abc import Callable, Sequence
from math import inf

import msgspec
from typing_extensions import override

from operators.errors import InputError, SurtitleError
from operators.events import AudioChunk
from operators.recognizers.child import Child, ChildDiedError
from operators.recognizers.kept_audio import KeptAudio
from operators.recognizers.protocol import Hypothesis, Recognizer

_MEGABYTE = 1_000_000
# One crash is bad luck; this many without a chunk heard in between are not.
_MOST_CRASHES = 3
# The share of the growth at which the next child is started, and the multiple of it after which no pause is
# waited for any longer: an open segment has to be heard again, which takes a second or two.
_GET_READY = 0.9
_WITHOUT_A_PAUSE = 3


def _nobody(_sentence: str) -> None:
    pass


class ProcessRecognizer(Recognizer):
    """Recognises one stream in a child process.

    The child is replaced by a fresh one in two cases. When its memory has grown, at the first pause (without
    a pause, when it has grown three times as much): the fresh one was started ahead of time, so no audio
    waits for it. When it died: the fresh one hears the audio since the last final again, and the open
    segment goes on under its number.

    :arg make: Makes the recogniser in the child, as ``functools.partial(MoonshineRecognizer, …)``; it has
        to be picklable.
    :arg max_growth_mb: Megabytes of memory that a child may gain before it is replaced; None for any number.
    :arg context_s: Seconds of audio before the present that a fresh child hears in a pause; more than the
        recogniser's update interval and what its voice detector looks back.
    :arg memory_s: Seconds of audio that are kept for the case that the child dies. Of an open segment that is
        longer, the text stands as it was.
    :arg patience_s: Seconds after which a child that does not answer is taken for dead.
    :arg tell: Is told in a sentence when a child died.
    :raises SurtitleError: that which making the recogniser raised.
    :raises InputError: here or later, when one child after the other dies.
    """

    def __init__(
        self,
        make: Callable[[], Recognizer],
        *,
        max_growth_mb: float | None = 300.0,
        context_s: float = 2.0,
        memory_s: float = 60.0,
        patience_s: float = 60.0,
        tell: Callable[[str], None] = _nobody,
    ) -> None:
        self._make = make
        self._max_growth = inf if max_growth_mb is None else max_growth_mb * _MEGABYTE
        self._context_s, self._memory_s = context_s, memory_s
        self._patience_s = patience_s
        self._tell = tell
        #: Audio that a fresh child may have to hear.
        self._audio = KeptAudio()
        #: The last hypothesis of each segment without a final; the number of the next segment to come.
        self._open: dict[int, Hypothesis] = {}
        self._next_segment = 0
        self._final_end_s = 0.0
        self._crashes = 0
        #: Number of the child's segment 0, and its memory at the start.
        self._first_segment = 0
        self._base_bytes = 0
        self._spare: Child | None = None
        self._child = Child(make, patience_s)
        try:
            self._adopt(self._child)
        except ChildDiedError as died:
            self._recover(died)
        except SurtitleError:
            self._child.end()
            raise

    @property
    def pid(self) -> int:
        """Number of the child's process; another one after each replacement."""
        return self._child.pid

    @override
    def accept(self, chunk: AudioChunk) -> Sequence[Hypothesis]:
        self._remember(chunk)
        try:
            answer = self._child.ask(chunk)
        except ChildDiedError as died:
            return self._recover(died)
        self._crashes = 0
        hypotheses = self._take(answer.hypotheses)
        return hypotheses + self._replace_if_grown(answer.resident_bytes)

    @override
    def finish(self) -> Sequence[Hypothesis]:
        hypotheses: list[Hypothesis] = []
        try:
            hypotheses += self._take(self._child.ask(None).hypotheses)
        except ChildDiedError as died:
            hypotheses += self._recover(died)
            try:
                hypotheses += self._take(self._child.ask(None).hypotheses)
            except ChildDiedError as again:
                self._report(again)
        hypotheses += self._finals()
        self._audio.clear()
        return hypotheses

    @override
    def close(self) -> None:
        self._child.end()
        if self._spare is not None:
            self._spare.end()

    def _adopt(self, child: Child) -> None:
        """Make it the child in charge, waiting until it is ready."""
        answer = child.start()
        if child is not self._child:
            self._child.end()
            self._child = child
        self._base_bytes = answer.resident_bytes
        self._first_segment = min(self._open, default=self._next_segment)

    def _take(self, heard: Sequence[Hypothesis]) -> list[Hypothesis]:
        """The child's hypotheses under the stream's numbers."""
        taken = []
        for hypothesis in heard:
            segment = self._first_segment + hypothesis.segment
            numbered = msgspec.structs.replace(hypothesis, segment=segment)
            self._next_segment = max(self._next_segment, segment + 1)
            self._open[segment] = numbered
            if numbered.is_final:
                del self._open[segment]
                self._final_end_s = max(self._final_end_s, numbered.end_s)
            taken.append(numbered)
        return taken

    def _finals(self) -> list[Hypothesis]:
        """A final, with its last text, for each open segment."""
        finals = [_as_final(last) for last in self._open.values()]
        self._open.clear()
        self._final_end_s = max([self._final_end_s, *(final.end_s for final in finals)])
        return finals

    def _remember(self, chunk: AudioChunk) -> None:
        self._audio.add(chunk)
        heard_s = chunk.start_s + chunk.duration_s
        if self._open:
            self._audio.forget_before(heard_s - self._memory_s)
        else:
            self._audio.forget_before(max(self._final_end_s, heard_s - self._context_s))

    def _heard_again(self, from_s: float) -> list[Hypothesis]:
        """The last hypothesis of each segment that the fresh child hears in the audio since ``from_s``."""
        last: dict[int, Hypothesis] = {}
        for chunk in self._audio.since(from_s):
            last |= {hypothesis.segment: hypothesis for hypothesis in self._child.ask(chunk).hypotheses}
        return self._take(list(last.values()))

    # Replacing the child

    def _replace_if_grown(self, resident_bytes: int) -> list[Hypothesis]:
        growth = resident_bytes - self._base_bytes
        if self._spare is None and growth > self._max_growth * _GET_READY:
            self._spare = Child(self._make, self._patience_s)
        most = self._max_growth * (_WITHOUT_A_PAUSE if self._open else 1)
        if growth <= most or self._spare is None or not self._spare.is_ready:
            return []
        spare, self._spare = self._spare, None
        try:
            spare.start()
        except (SurtitleError, ChildDiedError) as error:
            # The old one goes on; the next attempt is made when it has grown as much again.
            spare.end()
            self._base_bytes = resident_bytes
            self._tell(f"the speech engine's process, which has grown, could not be replaced: {error}")
            return []
        try:
            self._adopt(spare)
            return self._catch_up()
        except ChildDiedError as died:
            return self._recover(died)

    def _recover(self, died: ChildDiedError) -> list[Hypothesis]:
        """Go on with a fresh child: what it makes of the audio since the last final."""
        hypotheses: list[Hypothesis] = []
        while True:
            self._report(died)
            spare, self._spare = self._spare, None
            try:
                self._adopt(spare or Child(self._make, self._patience_s))
                return hypotheses + self._catch_up()
            except ChildDiedError as again:
                # It may be this audio that no child survives.
                died = again
                hypotheses += self._finals()
                self._audio.clear()

    def _catch_up(self) -> list[Hypothesis]:
        before = dict(self._open)
        finals: list[Hypothesis] = []
        from_s = self._final_end_s
        if before and self._audio.start_s > min(last.start_s for last in before.values()):
            # The beginning of the open segment is not kept any more: its text stands.
            from_s = max(last.end_s for last in before.values())
            finals = self._finals()
            self._first_segment = self._next_segment
            before = {}
        heard = self._heard_again(from_s)
        for segment in before.keys() - {hypothesis.segment for hypothesis in heard}:
            finals.append(_as_final(self._open.pop(segment)))
        # What says less than a viewer has read already is not worth a flicker: the next update says more.
        return finals + [one for one in heard if one.is_final or _is_later(one, before.get(one.segment))]

    def _report(self, died: ChildDiedError) -> None:
        self._crashes += 1
        if self._crashes >= _MOST_CRASHES:
            raise InputError(
                f"the speech engine's process {died}, like {self._crashes - 1} before it; "
                "check the speech model's files and the free memory"
            ) from died
        self._tell(f"the speech engine's process {died}; a new one takes over")


def _as_final(hypothesis: Hypothesis) -> Hypothesis:
    return msgspec.structs.replace(hypothesis, is_final=True)


def _is_later(hypothesis: Hypothesis, before: Hypothesis | None) -> bool:
    return before is None or hypothesis.end_s >= before.end_s
