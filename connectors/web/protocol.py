"""The log of one stream for browsers: numbered differences, and the data that a client needs to catch up.

Everything here is pure, and its memory is bounded however long a stream lasts. A client that joins at any
moment, from any position in the journal or without one, ends with the same text as a client that saw
everything.
"""

import re
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from connectors.web.messages import (
    End,
    Figures,
    Languages,
    Message,
    RunState,
    Segment,
    SegmentUpdate,
    Snapshot,
    Speaker,
    Speakers,
)
from operators.events import Caption
from operators.languages import ENGLISH, is_language
from operators.languages import language as language_of
from operators.speakers import shown_name
from operators.text import cleaned, common_prefix, settled

_ID = re.compile(r"([0-9a-zA-Z]{1,32})-([0-9]{1,15})", re.ASCII)
_encode = msgspec.json.Encoder().encode


class Bounds(NamedTuple):
    """How much is remembered: segments in a snapshot, and missed messages that can be sent later."""

    segments: int = 200
    messages: int = 1000
    #: Voices; those beyond have no name.
    speakers: int = 100


class StreamLog:
    """The history of one stream: recent segments in full, recent messages encoded once for all clients.

    Messages are numbered 1, 2, 3, …; a client's position is the number of its last message.
    """

    def __init__(self, run: str, language: Languages, bounds: Bounds | None = None) -> None:
        """``run`` (letters and digits) distinguishes the numbers of this log from those of others."""
        self._run = run
        self.language = language
        self._bounds = bounds or Bounds()
        #: Number of the newest message.
        self.position = 0
        #: Number of segments so far.
        self.segments = 0
        self._journal: deque[bytes] = deque(maxlen=self._bounds.messages)
        self._segments: dict[int, Segment] = {}
        # Highest number of a forgotten segment: a lower number that is unknown is an echo.
        self._forgotten = -1
        # The name of each voice for viewers, by its name in captions, in the order of their first words.
        self._names: dict[str, str] = {}
        self.state = RunState(state="listening")
        self.figures: Figures | None = None
        self.is_over = False
        # The newest message of each kind that waits for the next tick.
        self._waiting: dict[type, RunState | Figures] = {}

    def caption(self, caption: Caption) -> None:
        """Publish how a caption differs from its segment's previous one, unless it is an echo."""
        known = self._segments.get(caption.segment)
        if (known and known.final) or (known is None and caption.segment <= self._forgotten):
            return
        before = known or Segment(segment=caption.segment)
        self.segments += known is None
        speaker = self._speaker_after(before, caption)
        # Cleaned as for a terminal, so that both show the same. Also, a lone surrogate could not be encoded.
        text, source = cleaned(caption.shown), cleaned(caption.source)
        if (caption.spoken or self.language.source) == self.language.target:
            source = ""  # it would be the same text
        after = Segment(
            segment=caption.segment,
            text=text,
            settled=len(text) if caption.is_final else settled(before.text, text),
            source=source,
            final=caption.is_final,
            start_s=caption.start_s,
            end_s=caption.end_s,
            spoken=caption.spoken,
            speaker=speaker,
        )
        self._segments[caption.segment] = after
        if len(self._segments) > self._bounds.segments:
            # Finished segments are forgotten first, the oldest before the others.
            others = [one for one in self._segments.values() if one is not after]
            gone = next((one for one in others if one.final), others[0])
            del self._segments[gone.segment]
            self._forgotten = max(self._forgotten, gone.segment)
        keep, source_keep = common_prefix(before.text, text), common_prefix(before.source, source)
        update = SegmentUpdate(
            segment=after.segment,
            keep=keep,
            append=text[keep:],
            settled=after.settled,
            source_keep=source_keep,
            source_append=source[source_keep:],
            final=after.final,
            start_s=after.start_s,
            end_s=after.end_s,
            spoken=after.spoken,
            speaker=after.speaker,
        )
        self._publish(update)

    def _speaker_after(self, before: Segment, caption: Caption) -> str | msgspec.UnsetType:
        """The speaker of a segment, published before. One that was shown at a change of speakers stays."""
        speaker = cleaned(caption.speaker or "")
        if before.speaker and (speaker in ("", before.speaker) or self._begins(before)):
            return before.speaker
        if speaker and speaker not in self._names and len(self._names) < self._bounds.speakers:
            self._names[speaker] = speaker
            self._publish(Speakers(speakers=self._speakers()))
        return speaker if speaker in self._names else msgspec.UNSET

    def _begins(self, segment: Segment) -> bool:
        """Whether the speaker changes at a segment."""
        earlier = [one for one in self._segments.values() if one.segment < segment.segment and one.speaker]
        last = max(earlier, key=lambda one: one.segment, default=Segment(segment=0))
        return self._names.get(last.speaker or "") != self._names.get(segment.speaker or "")

    def called_like(self, speaker: str) -> list[str]:
        """The voices in captions that viewers see under the name of this one; empty for an unknown one."""
        return [one for one, name in self._names.items() if name == self._names.get(speaker)]

    def name(self, speakers: Iterable[str], name: str) -> None:
        """Rename voices from now on, also in earlier segments."""
        # The next captions have the new name, or for a moment still the old one.
        self._names |= dict.fromkeys([*speakers, name], name)
        said = {name, *(one.speaker for one in self._segments.values())}
        for one in [*self._names]:
            if len(self._names) > self._bounds.speakers and one not in said:
                del self._names[one]
        self._publish(Speakers(speakers=self._speakers()))

    def _speakers(self) -> list[Speaker]:
        written = self.language.target
        viewer = language_of(written) if is_language(written) else ENGLISH
        return [Speaker(speaker=one, name=shown_name(name, viewer)) for one, name in self._names.items()]

    def tell(self, message: RunState | Figures) -> None:
        """Publish the run's status or the figures with the next `tick`, unless a newer one replaces it."""
        if isinstance(message, Figures):
            self.figures = message
        self._waiting[type(message)] = message

    def tick(self) -> bool:
        """Publish the messages that wait; returns whether there were any."""
        waiting, self._waiting = self._waiting, {}
        for message in waiting.values():
            if isinstance(message, RunState):
                self.state = message
            self._publish(message)
        return bool(waiting)

    def end(self) -> None:
        """Publish everything that waits, then the end of the stream."""
        if not self.is_over:
            self.tick()
            self.is_over = True
            self._publish(End())

    def arrival(self, last_id: str | None) -> tuple[int, bytes]:
        """For a joining client with the given last id: its position, and the first data to send.

        It brings the client up to date with the missed messages or a snapshot, then adds the present state.
        """
        match = _ID.fullmatch(last_id or "")
        missed = self.after(int(match[2])) if match and match[1] == self._run else None
        if missed is None:
            segments = list(self._segments.values())
            snapshot = Snapshot(
                segments=segments,
                state=self.state.state,
                language=self.language,
                speakers=self._speakers() or msgspec.UNSET,
            )
            missed = self._event(snapshot)
        return self.position, missed + self.standing()

    def after(self, position: int) -> bytes | None:
        """The messages after a position; None if they are forgotten or the position is from another log."""
        count = self.position - position
        if not 0 <= count <= len(self._journal):
            return None
        return b"".join(self._journal[-back] for back in range(count, 0, -1))

    def standing(self) -> bytes:
        """The present state, as messages without numbers: status, figures, whether the stream is over."""
        messages: list[Message] = [self.state]
        if self.figures is not None:
            messages.append(self.figures)
        if self.is_over:
            messages.append(End())
        return b"".join(self._event(message) for message in messages)

    def _publish(self, message: Message) -> None:
        self.position += 1
        self._journal.append(self._event(message))

    def _event(self, message: Message) -> bytes:
        return b"id: %s-%d\ndata: %s\n\n" % (self._run.encode("ascii"), self.position, _encode(message))
