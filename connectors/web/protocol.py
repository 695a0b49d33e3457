"""One stream as browsers follow it: numbered differences, and what a client needs to catch up.

Everything here is pure, and its memory is bounded however long a stream lasts. A client that joins at any
moment, from any position in the journal or without one, ends with the same text as a client that saw
everything.
"""

import re
from collections import deque
from typing import Generic, NamedTuple, TypeVar

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
)
from operators.events import Caption
from operators.text import cleaned, common_prefix, settled

M = TypeVar("M")


class Pace(Generic[M]):
    """Limits the rate of one kind of message: only the newest message waits, replacing older ones."""

    def __init__(self, interval_s: float) -> None:
        """``interval_s`` is the minimum time between two messages, in seconds."""
        self._interval_s = interval_s
        self._passed_s = float("-inf")
        self._waits: M | None = None

    def offer(self, message: M) -> None:
        """Let a message wait for its turn, replacing one that waits."""
        self._waits = message

    def due(self, now_s: float) -> M | None:
        """Remove and return the waiting message if it is due."""
        message = self._waits
        if message is None or now_s - self._passed_s < self._interval_s:
            return None
        self._waits, self._passed_s = None, now_s
        return message


_ID = re.compile(r"([0-9a-zA-Z]{1,32})-([0-9]{1,15})", re.ASCII)
_encode = msgspec.json.Encoder().encode


class Bounds(NamedTuple):
    """How much of a stream is remembered, and how often its status is sent."""

    #: Maximum number of segments in a snapshot, and of characters in their texts and sources.
    segments: int = 200
    characters: int = 400_000
    #: Maximum number of missed messages that can be sent later, and their bytes.
    messages: int = 1000
    octets: int = 1_000_000
    #: Minimum seconds between two messages of a kind.
    figures_s: float = 0.5
    state_s: float = 0.2


class StreamLog:
    """The history of one stream: recent segments in full, recent messages encoded once for all clients.

    Messages are numbered 1, 2, 3, …; a client's position is the number of its last message.
    """

    def __init__(self, run: str, language: Languages, state: str, bounds: Bounds | None = None) -> None:
        """``run`` (letters and digits) distinguishes the numbers of this log from those of others."""
        self._run = run
        #: The languages that it tells.
        self.language = language
        # Otherwise the source would say the same as the text.
        self._translates = language.source != language.target
        self._bounds = bounds or Bounds()
        #: Number of the newest message.
        self.position = 0
        #: Number of segments so far.
        self.segments = 0
        self._journal: deque[bytes] = deque()
        self._octets = 0
        self._segments: dict[int, Segment] = {}
        self._characters = 0
        # Highest number of a forgotten segment: a lower number that is unknown is an echo.
        self._forgotten = -1
        self.state = RunState(state=state)
        self.figures: Figures | None = None
        self.is_over = False
        self._states: Pace[RunState] = Pace(self._bounds.state_s)
        self._figures: Pace[Figures] = Pace(self._bounds.figures_s)
        self._newest: tuple[int, int, bytes] = (-1, -1, b"")
        self._snapshot: tuple[int, bytes] = (-1, b"")

    def caption(self, caption: Caption) -> None:
        """Publish how a caption differs from its segment's previous one, unless it is an echo."""
        known = self._segments.get(caption.segment)
        if (known and known.final) or (known is None and caption.segment <= self._forgotten):
            return
        before = known or Segment(segment=caption.segment)
        self.segments += known is None
        # Cleaned as for a terminal, so that both show the same. Also, a lone surrogate could not be encoded.
        text, source = cleaned(caption.shown), cleaned(caption.source) if self._translates else ""
        after = Segment(
            segment=caption.segment,
            text=text,
            settled=len(text) if caption.is_final else settled(before.text, text),
            source=source,
            final=caption.is_final,
            start_s=caption.start_s,
            end_s=caption.end_s,
        )
        self._segments[caption.segment] = after
        self._characters += _size(after) - _size(before)
        self._forget(but=caption.segment)
        self._say(_difference(before, after))

    def tell_state(self, state: RunState, now_s: float) -> None:
        """Publish the run's status when it is due."""
        self._states.offer(state)
        self.tick(now_s)

    def tell_figures(self, figures: Figures, now_s: float) -> None:
        """Publish the figures when they are due."""
        self.figures = figures
        self._figures.offer(figures)
        self.tick(now_s)

    def tick(self, now_s: float) -> bool:
        """Publish messages that are due by now; returns whether there were any."""
        state, figures = self._states.due(now_s), self._figures.due(now_s)
        if state is not None:
            self.state = state
            self._say(state)
        if figures is not None:
            self._say(figures)
        return state is not None or figures is not None

    def end(self) -> None:
        """Publish everything that waits, then the end of the stream."""
        if not self.is_over:
            self.tick(float("inf"))
            self.is_over = True
            self._say(End())

    def arrival(self, last_id: str | None) -> tuple[int, bytes]:
        """For a joining client with the given last id: its position, and the first data to send.

        It brings the client up to date with the missed messages or a snapshot, then adds the present state.
        """
        match = _ID.fullmatch(last_id or "")
        missed = self.after(int(match[2])) if match and match[1] == self._run else None
        if missed is None:
            missed = self._whole()
        return self.position, missed + self.standing()

    def after(self, position: int) -> bytes | None:
        """The messages after a position; None if they are forgotten or the position is from another log."""
        count = self.position - position
        if not 0 <= count <= len(self._journal):
            return None
        if self._newest[:2] != (position, self.position):
            # All clients that keep up request the same messages.
            joined = b"".join(self._journal[-back] for back in range(count, 0, -1))
            self._newest = (position, self.position, joined)
        return self._newest[2]

    def standing(self) -> bytes:
        """The present state, as messages without numbers: status, figures, whether the stream is over."""
        said: list[Message] = [self.state]
        if self.figures is not None:
            said.append(self.figures)
        if self.is_over:
            said.append(End())
        return b"".join(self._event(message) for message in said)

    def _whole(self) -> bytes:
        if self._snapshot[0] != self.position:
            message = Snapshot(
                segments=list(self._segments.values()), state=self.state.state, language=self.language
            )
            self._snapshot = (self.position, self._event(message))
        return self._snapshot[1]

    def _say(self, message: Message) -> None:
        self.position += 1
        event = self._event(message)
        self._journal.append(event)
        self._octets += len(event)
        while len(self._journal) > 1 and (
            len(self._journal) > self._bounds.messages or self._octets > self._bounds.octets
        ):
            self._octets -= len(self._journal.popleft())

    def _event(self, message: Message) -> bytes:
        return b"id: %s-%d\ndata: %s\n\n" % (self._run.encode("ascii"), self.position, _encode(message))

    def _forget(self, but: int) -> None:
        while len(self._segments) > self._bounds.segments or self._characters > self._bounds.characters:
            others = [one for number, one in self._segments.items() if number != but]
            if not others:
                return
            # Finished segments are forgotten first, the oldest before the others.
            gone = next((one for one in others if one.final), others[0])
            del self._segments[gone.segment]
            self._characters -= _size(gone)
            self._forgotten = max(self._forgotten, gone.segment)


def _difference(before: Segment, after: Segment) -> SegmentUpdate:
    keep = common_prefix(before.text, after.text)
    source_keep = common_prefix(before.source, after.source)
    return SegmentUpdate(
        segment=after.segment,
        keep=keep,
        append=after.text[keep:],
        settled=after.settled,
        source_keep=source_keep,
        source_append=after.source[source_keep:],
        final=after.final,
        start_s=after.start_s,
        end_s=after.end_s,
    )


def _size(segment: Segment) -> int:
    return len(segment.text) + len(segment.source)
