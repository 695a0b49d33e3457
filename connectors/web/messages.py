"""The messages of the caption protocol, each a JSON object; docs/formats.md describes them.

All counts of characters are Unicode code points.
"""

import math
from collections.abc import Sequence

import msgspec

from connectors.view import Status
from operators.events import ErasureRecord
from operators.languages import Direction

_DIRS = ("ltr", "rtl")


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A language of captions that readers may choose: its code, its name in itself, and its direction."""

    code: str
    name: str
    dir: str = "ltr"


class Languages(msgspec.Struct, frozen=True, kw_only=True):
    """The languages of the speech and of the captions (ISO 639-1), and the direction of the latter."""

    #: Empty if several are spoken.
    source: str
    target: str
    target_dir: str = "ltr"
    #: If there are several languages of captions, all of them and the spoken one.
    choices: list[Choice] | msgspec.UnsetType = msgspec.UNSET


def languages_of(directions: Sequence[Direction]) -> list[Languages]:
    """The languages of a stream, for the protocol: once for each language of captions."""
    spoken, written = (list(dict.fromkeys(each)) for each in zip(*directions, strict=True))
    # The transcript can be read, too, unless it is in several languages.
    published = dict.fromkeys([*written, *(spoken if len(spoken) == 1 else [])])
    choices = [
        Choice(code=one.code, name=one.own or one.name, dir=_DIRS[one.script.is_rtl]) for one in published
    ]
    return [
        Languages(
            source=spoken[0].code if len(spoken) == 1 else "",
            target=target.code,
            target_dir=_DIRS[target.script.is_rtl],
            choices=choices if len(written) > 1 else msgspec.UNSET,
        )
        for target in written
    ]


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """The complete state of one segment."""

    segment: int
    text: str = ""
    settled: int = 0
    source: str = ""
    final: bool = False
    start_s: float = 0.0
    end_s: float = 0.0
    #: Its language, if several are spoken.
    spoken: str | msgspec.UnsetType = msgspec.UNSET
    #: The speaker, if known: the `Speaker.speaker` of one of the stream's voices.
    speaker: str | msgspec.UnsetType = msgspec.UNSET


class Speaker(msgspec.Struct, frozen=True, kw_only=True):
    """A voice of the stream: its name in segments, and its name for viewers, in their language."""

    speaker: str
    name: str


class Snapshot(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="snapshot"):
    """The recent history, for a client that is new or has missed too much."""

    segments: list[Segment]
    state: str
    language: Languages
    #: The voices so far, if they are distinguished.
    speakers: list[Speaker] | msgspec.UnsetType = msgspec.UNSET


class SegmentUpdate(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="update"):
    """A change of one segment: its text becomes ``text[:keep] + append``, and so does the source."""

    segment: int
    keep: int
    append: str
    settled: int
    source_keep: int
    source_append: str
    final: bool
    start_s: float
    end_s: float
    spoken: str | msgspec.UnsetType = msgspec.UNSET
    speaker: str | msgspec.UnsetType = msgspec.UNSET


class Speakers(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="speakers"):
    """All voices so far, in the order of their first words; sent when one is new or renamed."""

    speakers: list[Speaker]


class Figures(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="figures"):
    """How stable and how late the captions are, for the control room."""

    updates: int
    segments: int
    ne_raw: float
    ne_shown: float
    accepted_over_drafted: float | None
    accepted_over_output: float | None
    #: Milliseconds of the last update by the part of the latency; null if unknown.
    latency_ms: dict[str, float | None]
    overtaken: int
    lost_s: float


class RunState(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="state"):
    """The run's status; the level is null if there is no audio."""

    state: str
    sentence: str | None = None
    level_dbfs: float | None = None


class End(msgspec.Struct, frozen=True, tag_field="type", tag="end"):
    """The stream is over."""


Message = Snapshot | SegmentUpdate | Speakers | Figures | RunState | End


_PARTS = ("recogniser", "queue", "model", "display")


def figures_after(before: Figures | None, record: ErasureRecord, lost_s: float) -> Figures:
    """The figures of a stream after one more record; ``lost_s`` is the total of lost audio."""
    parts = record.latency
    return Figures(
        updates=(before.updates if before else 0) + 1,
        segments=(before.segments if before else 0) + record.is_final,
        ne_raw=round(record.raw.ne_stream, 4),
        ne_shown=round(record.shown.ne_stream, 4),
        accepted_over_drafted=_rounded(record.accepted_over_drafted),
        accepted_over_output=_rounded(record.accepted_over_output),
        latency_ms={
            **{name: _ms(getattr(parts, f"{name}_s", None)) for name in _PARTS},
            "from_speech": _ms(record.latency_from_speech_s),
            "from_arrival": _ms(record.latency_from_arrival_s),
        },
        overtaken=(before.overtaken if before else 0) + record.overtaken,
        lost_s=round(lost_s, 2),
    )


def state_of(status: Status, sentence: str | None) -> RunState:
    level = status.level_dbfs
    heard = round(level, 1) if level is not None and math.isfinite(level) else None
    return RunState(state=status.state, sentence=sentence, level_dbfs=heard)


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(1000 * seconds, 1)


def _rounded(ratio: float | None) -> float | None:
    return None if ratio is None else round(ratio, 4)
