"""Reads the files of a run into the figures of a report, and into what its page draws besides them."""

from array import array
from collections import deque
from collections.abc import Callable, Collection, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from connectors.files.contents import read_lines
from connectors.jsonl.files import event_type_of, read_events
from connectors.messages import tell
from operators.errors import InputError
from operators.events import Caption, ErasureRecord, Event
from operators.languages import Language, is_language, language
from operators.metrics.erasure import ErasureMeter
from operators.metrics.lifespans import Step
from operators.metrics.report import Report, ReportMeter
from operators.metrics.summary import LatencyParts
from operators.metrics.tokenizers import latency_tokenizer, spelled, tokenizer
from operators.text import cleaned

#: How latency is counted; see docs/measuring.md.
_LATENCY = "delay:final-prefix|al:simuleval|laal:simuleval|aggr:mean-of-segments|lag:all-tokens"


class Measured(NamedTuple):
    """One update: how much it rewrote, and the measured caption if the file has it."""

    record: ErasureRecord
    caption: Caption | None


class Reading(NamedTuple):
    """A file, and how to read it.

    Attributes:
        path: Captions, or an erasure log.
        kind: The type of its events.
        spoken: The language of the captions.
        split: The unit in which latency is counted; None for that of the language.
    """

    path: Path
    kind: type[Event]
    spoken: Language
    split: str | None = None

    def measured(self, only: Collection[tuple[str, int]] | None = None) -> Iterator[Measured]:
        """The updates of the file in order; only of the segments in ``only`` if that is given.

        NE of the stream then counts only those segments. A last line that a crash truncated is skipped with a
        message.
        """
        # A caller who asks for some segments has read the file before.
        cut = _tell if only is None else lambda _sentence: None
        counted = _OneCount(self.path)
        if self.kind is ErasureRecord:
            for record in read_events(self.path, ErasureRecord, cut):
                counted.check(record)
                if only is None or (record.stream, record.segment) in only:
                    yield Measured(record, None)
            return
        meters: dict[str, ErasureMeter] = {}
        for caption in read_events(self.path, Caption, cut):
            if only is not None and (caption.stream, caption.segment) not in only:
                continue
            _check_times(self.path, caption)
            counted.check(caption)
            if caption.stream not in meters:
                meters[caption.stream] = ErasureMeter(self.spoken.tokenizer)
            yield Measured(meters[caption.stream].record(caption), caption)

    def report(self, reference: Path | None = None, look: Callable[[Measured], None] | None = None) -> Report:
        """All figures of the file.

        Args:
            reference: A reference translation in each line, one for each segment.

        Raises:
            InputError: if one of the files is not usable.
        """
        name = self.split or latency_tokenizer(self.spoken)
        meter = ReportMeter(tokenizer(name))
        signatures, clocks = dict[str, None](), dict[str, None]()
        for one in self.measured():
            meter.add(one.record, one.caption)
            signatures[one.record.signature] = None
            if one.caption is not None:
                clocks["ready_s" if one.caption.shown_s is None else "shown_s"] = None
            if look is not None:
                look(one)
        if self.kind is ErasureRecord:
            return meter.report(str(self.path), "erasure", " and ".join(signatures))
        references = None if reference is None else _references(reference, meter.segments, self.path)
        length = "hypothesis" if references is None else "reference"
        latency = f"{_LATENCY}|ref:{length}|tok:{name}|cu:end_s|ca:{'+'.join(sorted(clocks))}"
        signature = f"latency {latency}|surtitle:{version('surtitle')}, erasure {' and '.join(signatures)}"
        return meter.report(str(self.path), "caption", signature, references)


class _OneCount:
    """Refuses captions that cannot be counted together."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._languages: dict[str, str] = {}

    def check(self, event: Caption | ErasureRecord) -> None:
        """Raise an `InputError` for a stream in two languages, or languages with different tokens."""
        code = event.language
        if not code or not is_language(code):
            return
        first = next(iter(self._languages.values()), code)
        own = self._languages.setdefault(event.stream, code)
        other = own if own != code else first
        if own != code or _tokens(other) != _tokens(code):
            names = f"{language(other).name} and {language(code).name}"
            raise InputError(
                f"{self._path} has captions in {names}, which are not counted together; take one at a time: "
                f"""grep '"language":"{code}"' {self._path} > {code}.jsonl"""
            )


def _tokens(code: str) -> tuple[str, str]:
    one = language(code)
    return one.tokenizer, latency_tokenizer(one)


def kind_of(events: Path) -> type[Event]:
    """Whether a file holds captions or erasure records; raises `InputError` if neither."""
    kind = event_type_of(events)
    if kind not in (Caption, ErasureRecord):
        raise InputError(
            f"{events} holds {kind.__name__.lower()} events, which do not show what a viewer saw; "
            "give captions (written with --captions) or an erasure log (--log)"
        )
    return kind


def language_of(events: Path, kind: type[Event]) -> Language:
    """The language that the first event of a file says its captions are in; German if it says none."""
    first: Any = next(read_events(events, kind, lambda _sentence: None), None)
    named = first.language if first is not None else None
    return language(named if named and is_language(named) else "German")


def _tell(sentence: str) -> None:
    tell("file_cut", cleaned(sentence))


def _check_times(events: Path, caption: Caption) -> None:
    place = f"{events}: stream {caption.stream!r}, segment {caption.segment}, revision {caption.revision}"
    if caption.end_s < caption.start_s:
        raise InputError(
            f"{place}: its speech ends at {caption.end_s:g} s, before it begins; correct its times"
        )


def _references(path: Path, segments: list[tuple[str, int]], events: Path) -> list[str]:
    lines = read_lines(path)
    if len(lines) != len(segments):
        raise InputError(
            f"{path} has {len(lines)} lines, but {events} {len(segments)} segments; give one line for "
            "each segment, in the order of the streams and of their segments"
        )
    return lines


#: Maximum number of updates that are drawn of a segment: its last ones.
MAX_UPDATES = 300
#: Maximum characters of a segment's updates; a segment with more is not drawn.
MAX_CHARACTERS = 300_000


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


def _part(name: str, one: Measured) -> float | None:
    seconds: float | None = getattr(one.record.latency, f"{name}_s", None)
    return seconds


#: What a page draws of each update: erased tokens, NE of the stream so far, when it was shown or ready, the
#: parts of the latency in seconds, and shares of the draft and of the output; None if it is unknown.
SERIES: dict[str, Callable[[Measured], float | None]] = {
    "raw": lambda one: one.record.raw.erased,
    "shown": lambda one: one.record.shown.erased,
    "ne": lambda one: one.record.shown.ne_stream,
    "at_s": lambda one: None if one.caption is None else _seen_s(one),
    "from_speech": lambda one: one.record.latency_from_speech_s,
    **{name: partial(_part, name) for name in LatencyParts.__struct_fields__},
    "accepted_over_drafted": lambda one: one.record.accepted_over_drafted,
    "accepted_over_output": lambda one: one.record.accepted_over_output,
}


class Gathered:
    """Collects a few numbers for each update of a file, and reads the details later."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        #: The known values, update by update; counts as such.
        self.series: dict[str, array[Any]] = {
            name: array("Q" if name in ("raw", "shown") else "d") for name in SERIES
        }

    def look(self, one: Measured) -> None:
        """Record one update."""
        for name, column in self.series.items():
            if (value := SERIES[name](one)) is not None:
                column.append(value)

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
