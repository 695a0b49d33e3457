"""The recognize stage: turns audio into a `Partial` for every revision of every segment."""

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import NamedTuple

import msgspec
from bytewax import operators as op
from bytewax.dataflow import Stream, operator
from bytewax.operators import KeyedStream, StatefulBatchLogic
from typing_extensions import override

from operators.events import AudioChunk, Partial
from operators.recognizers.protocol import (
    Hypothesis,
    NumberingState,
    PartialNumbering,
    PartsVoices,
    Recognizer,
)
from operators.speakers import Namings
from operators.stages.snapshots import pack, unpack
from operators.voices.assigning import VoicesState
from operators.voices.listening import Listener, MakeListener


class Pause(NamedTuple):
    """The sound of a stream pauses, so all text so far is final."""

    stream: str
    #: When the pause was known, on the stream's clock.
    arrival_s: float
    #: Whether the stream is over.
    is_last: bool


class Speech(NamedTuple):
    """There is speech without a text yet."""

    stream: str
    #: End of the speech so far, on the stream's clock.
    end_s: float


class Renamed(NamedTuple):
    """A voice has another name from now on."""

    stream: str
    label: str
    name: str


#: The events that leave the recogniser.
Heard = Partial | Speech | Pause | Renamed


class Speakers(NamedTuple):
    """Detects who speaks in a run."""

    make: MakeListener
    #: The names that are given to voices during the run.
    namings: Namings


class HeardState(msgspec.Struct, frozen=True, array_like=True):
    """The state of a stream in a snapshot."""

    numbering: NumberingState
    voices: VoicesState | None


@operator
def recognize(
    step_id: str,
    up: Stream[AudioChunk],
    make_recognizer: Callable[[str], Recognizer],
    now: Callable[[str], float] | None = None,
) -> Stream[Partial]:
    """Recognise the speech of each stream.

    At a stream's last chunk, before a pause, or at the end of the input, its recogniser returns the remaining
    text, and every segment gets its final. After a last chunk, the stream is over and its state is freed.
    After a pause, a new recogniser continues the numbering. Input that ends without a last chunk was stopped,
    and a resumed run continues its numbering. A snapshot holds segment numbers and texts, never the
    recogniser: a resumed run ends the open segments with their last text, and continues from the next chunk
    with a new recogniser.

    Args:
        up: Chunks of any number of streams; those of one stream in order.
        make_recognizer: Makes the recogniser of a stream, given its name, at the stream's first chunk.
        now: The current time on the clock of a stream, given its name, in seconds, for live audio. Without
            it, a partial arrives at the end of its audio plus the seconds that the recogniser took:
            recognition as if live, without queueing.

    Example:
        >>> from bytewax import operators as op
        >>> from bytewax.dataflow import Dataflow
        >>> from bytewax.testing import TestingSink, run_main
        >>> from pathlib import Path
        >>> from connectors import AudioFileSource
        >>> from operators import recognize
        >>> from operators.recognizers.moonshine import moonshine_recognizer
        >>> flow, partials = Dataflow("example"), []
        >>> audio = op.input("in", flow, AudioFileSource(Path("talk.wav"), stream="talk"))
        >>> heard = recognize("recognize", audio, lambda stream: moonshine_recognizer())
        >>> op.output("out", heard, TestingSink(partials))
        >>> run_main(flow)
        >>> partials
        []
    """
    heard = listen("listen", up, make_recognizer, now)
    return op.filter_map("partials", heard, lambda one: one if isinstance(one, Partial) else None)


@operator
def listen(
    step_id: str,
    up: Stream[AudioChunk],
    make_recognizer: Callable[[str], Recognizer],
    now: Callable[[str], float] | None = None,
    processed: Callable[[AudioChunk], None] = lambda _chunk: None,
    speakers: Speakers | None = None,
) -> Stream[Heard]:
    """Recognise speech as `recognize` does, and report pauses of the sound, which end a sentence.

    Also reports speech without a text yet, which may belong to the sentence before.

    Args:
        processed: Called after each chunk.
        speakers: Detects who speaks; None for no speakers.
    """
    keyed: KeyedStream[AudioChunk] = op.key_on("key", up, lambda chunk: chunk.key)

    def build(resume: bytes | None) -> _Logic:
        state = None if resume is None else unpack(resume, HeardState)
        return _Logic(make_recognizer, now, processed, speakers, state)

    return op.key_rm("unkey", op.stateful_batch("stream", keyed, build))


class _Logic(StatefulBatchLogic[AudioChunk, Heard, bytes]):
    def __init__(
        self,
        make_recognizer: Callable[[str], Recognizer],
        now: Callable[[str], float] | None,
        processed: Callable[[AudioChunk], None],
        speakers: Speakers | None,
        resume: HeardState | None,
    ) -> None:
        self._make_recognizer = make_recognizer
        self._now = now
        self._processed = processed
        self._recognizer: Recognizer | None = None
        self._speakers = speakers
        self._listener: Listener | None = None
        self._voices = resume.voices if resume else None
        self._numbering = PartialNumbering(resume.numbering) if resume else None

    @override
    def on_batch(self, values: list[AudioChunk]) -> tuple[list[Heard], bool]:
        heard: list[Heard] = []
        for chunk in values:
            heard += self._recognize(chunk)
        return heard, self._numbering is None

    @override
    def on_eof(self) -> tuple[list[Heard], bool]:
        # Only a last chunk ends a stream. Without one, a later run continues the stream and its numbering.
        return [*self._finish()], self.RETAIN

    @override
    def snapshot(self) -> bytes:
        assert self._numbering is not None, "a logic is made for a chunk or from a snapshot"
        return pack(
            HeardState(self._numbering.state, self._listener.state if self._listener else self._voices)
        )

    def _recognize(self, chunk: AudioChunk) -> list[Heard]:
        numbering = self._numbering = self._numbering or PartialNumbering(NumberingState(chunk.stream))
        heard: list[Heard] = [*numbering.finish_resumed(self._arrival(numbering, 0.0)), *self._listen(chunk)]
        if self._recognizer is None and chunk.pcm:
            self._recognizer = self._make_recognizer(chunk.stream)
            if self._listener is not None and isinstance(self._recognizer, PartsVoices):
                self._recognizer.part(self._listener.change)
        numbering.heard_s = chunk.start_s + chunk.duration_s
        began = perf_counter()
        if self._recognizer is not None:
            hypotheses = self._recognizer.accept(chunk)
            heard += numbering.number(
                self._spoken(hypotheses), self._arrival(numbering, perf_counter() - began)
            )
            heard += [Speech(chunk.stream, one.end_s) for one in hypotheses if not (one.text or one.is_final)]
        if chunk.is_last or chunk.pauses:
            heard += self._finish(began)
            heard.append(Pause(chunk.stream, self._arrival(numbering, 0.0), chunk.is_last))
            # Later chunks with the name of a stream that is over belong to a new stream. After a pause, they
            # continue the stream, with a recogniser that counts its segments from 0.
            self._numbering = None if chunk.is_last else PartialNumbering(numbering.state)
            if chunk.is_last:
                self._listener = self._voices = None
        self._processed(chunk)
        return heard

    def _finish(self, began: float | None = None) -> list[Partial]:
        numbering, recognizer = self._numbering, self._recognizer
        assert numbering is not None, "a logic is made for a chunk or from a snapshot"
        began = perf_counter() if began is None else began
        hypotheses: Sequence[Hypothesis] = ()
        if recognizer is not None:
            self._recognizer = None
            hypotheses = self._spoken(recognizer.finish())
            recognizer.close()
            if self._listener is not None:
                self._listener.pause()
        arrival_s = self._arrival(numbering, perf_counter() - began)
        return numbering.number(hypotheses, arrival_s) + numbering.finish(arrival_s)

    def _listen(self, chunk: AudioChunk) -> list[Renamed]:
        """Process the sound and the names that were given to voices."""
        if self._speakers is None:
            return []
        assert self._numbering is not None, "a logic is made for a chunk or from a snapshot"
        if self._listener is None:
            self._listener = self._speakers.make(chunk.stream, self._voices or VoicesState())
        self._listener.hear(chunk)
        named = self._speakers.namings.take(chunk.stream)
        for label, name in named.items():
            self._listener.rename(label, name)
            self._numbering.rename(label, name)
        return [Renamed(chunk.stream, label, name) for label, name in named.items()]

    def _spoken(self, hypotheses: Sequence[Hypothesis]) -> Sequence[Hypothesis]:
        """The hypotheses with their speakers."""
        if self._listener is None:
            return hypotheses
        return [msgspec.structs.replace(one, speaker=self._listener.speaker(one)) for one in hypotheses]

    def _arrival(self, numbering: PartialNumbering, spent_s: float) -> float:
        return numbering.heard_s + spent_s if self._now is None else self._now(numbering.stream)
