"""Data that the page draws besides the report's figures: columns of numbers, and segments in detail."""

from array import array
from collections import deque
from collections.abc import Collection
from typing import NamedTuple

import msgspec

from flows.pages.report.reading import Measured, Reading
from operators.metrics.lifespans import Step
from operators.metrics.summary import LatencyParts
from operators.metrics.tokenizers import spelled, tokenizer

#: Maximum number of updates that are drawn of a segment: its last ones.
MAX_UPDATES = 300
#: Maximum characters of a segment's updates; a segment with more is not drawn.
MAX_CHARACTERS = 300_000

#: The figures of each update that are shown as histograms.
PARTS = ("from_speech", *LatencyParts.__struct_fields__)


class Moment(NamedTuple):
    """One update of a drawn segment. Lengths are in the tokens in which erasure is counted."""

    revision: int
    #: When it was shown, or ready, on the stream's clock; None in an erasure log.
    at_s: float | None
    shown: Step
    raw: Step
    #: The tokens that were shown; None in an erasure log.
    tokens: list[str] | None
    withheld: str
    source: str


class Detail(msgspec.Struct):
    """A drawn segment."""

    stream: str
    segment: int
    #: The last updates.
    moments: deque[Moment] = msgspec.field(default_factory=lambda: deque(maxlen=MAX_UPDATES))
    updates: int = 0
    characters: int = 0
    start_s: float | None = None
    end_s: float | None = None

    @property
    def is_too_long(self) -> bool:
        """Whether it has more text than a page can show."""
        return self.characters > MAX_CHARACTERS


class Gathered:
    """Collects a few numbers for each update of a file, and reads the details later.

    Args:
        reading: The file.
    """

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        #: For each update: the number of erased tokens, and NE of the stream so far.
        self.raw, self.shown = array("Q"), array("Q")
        self.ne = array("d")
        #: When it was shown, or ready, in seconds; empty if the file has no times.
        self.at_s = array("d")
        #: Seconds by part, and shares of the drafts and of the output, as far as known.
        self.parts = {name: array("d") for name in PARTS}
        self.over_drafted, self.over_output = array("d"), array("d")

    def look(self, one: Measured) -> None:
        """Record one update."""
        record = one.record
        self.raw.append(record.raw.erased)
        self.shown.append(record.shown.erased)
        self.ne.append(record.shown.ne_stream)
        if one.caption is not None:
            self.at_s.append(_seen_s(one))
        self.parts["from_speech"].append(record.latency_from_speech_s)
        for name, column in self.parts.items():
            seconds = getattr(record.latency, f"{name}_s", None)
            if seconds is not None:
                column.append(seconds)
        for share, column in (
            (record.accepted_over_drafted, self.over_drafted),
            (record.accepted_over_output, self.over_output),
        ):
            if share is not None:
                column.append(share)

    def details(self, wanted: Collection[tuple[str, int]]) -> dict[tuple[str, int], Detail]:
        """Read the file again, for these segments."""
        split = tokenizer(self.reading.spoken.tokenizer)
        made: dict[tuple[str, int], Detail] = {}
        for one in self.reading.measured(wanted):
            record, caption = one
            detail = made.setdefault((record.stream, record.segment), Detail(record.stream, record.segment))
            detail.updates += 1
            if caption is not None:
                detail.start_s, detail.end_s = caption.start_s, caption.end_s
                detail.characters += len(caption.text) + len(caption.source)
            if detail.is_too_long:
                detail.moments.clear()
                continue
            detail.moments.append(
                Moment(
                    revision=record.revision,
                    at_s=None if caption is None else _seen_s(one),
                    shown=Step(record.shown.length, record.shown.erased),
                    raw=Step(record.raw.length, record.raw.erased),
                    tokens=None if caption is None else spelled(caption.shown, split(caption.shown)),
                    withheld="" if caption is None else caption.withheld,
                    source="" if caption is None else caption.source,
                )
            )
        return made


def _seen_s(one: Measured) -> float:
    assert one.caption is not None, "only captions have times"
    return one.record.latency_from_speech_s + one.caption.end_s
