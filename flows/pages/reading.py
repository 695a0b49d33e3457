"""Reads the files of a run into the figures of a report."""

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from connectors.files.contents import read_lines
from connectors.jsonl.files import event_type_of, read_events
from connectors.messages import log_event
from operators.errors import InputError
from operators.events import Caption, ErasureRecord, Event
from operators.languages import Language, is_language, language
from operators.metrics.erasure import ErasureMeter
from operators.metrics.report import Report, ReportMeter
from operators.metrics.tokenizers import latency_tokenizer, tokenizer
from operators.text import cleaned

#: How latency is counted; see docs/measuring.md.
_LATENCY = "delay:final-prefix|al:simuleval|laal:simuleval|aggr:mean-of-segments|lag:all-tokens"


class MeasuredUpdate(NamedTuple):
    """One update and its erasure, and the measured caption if the file has it."""

    record: ErasureRecord
    caption: Caption | None

    @property
    def at_s(self) -> float | None:
        """When it was shown, or ready, in seconds on the stream's clock; None in an erasure log."""
        return None if self.caption is None else self.record.latency_from_speech_s + self.caption.end_s


class ReportInput(NamedTuple):
    """A file of captions or an erasure log, and how to read it.

    ``spoken`` is the language of the captions; ``split`` the unit of latency, by default the language's.
    """

    path: Path
    kind: type[Event]
    spoken: Language
    split: str | None = None

    def measured(self) -> Iterator[MeasuredUpdate]:
        """The updates of the file in order; a last line that a crash truncated is skipped with a message.

        Raises `InputError` for invalid updates, and for languages that cannot be counted together.
        """
        meters: dict[str, ErasureMeter] = {}
        languages: dict[str, str] = {}
        events: Iterator[Any] = read_events(self.path, self.kind, _report_cut)
        for event in events:
            _check_language(self.path, event, languages)
            if isinstance(event, ErasureRecord):
                yield MeasuredUpdate(event, None)
                continue
            _check_times(self.path, event)
            if event.stream not in meters:
                meters[event.stream] = ErasureMeter(self.spoken.tokenizer)
            yield MeasuredUpdate(meters[event.stream].record(event), event)

    def report(self, reference: Path | None = None, keep: list[MeasuredUpdate] | None = None) -> Report:
        """All figures of the file.

        Args:
            reference: A reference translation in each line, one for each segment.
            keep: Receives the updates.

        Raises:
            InputError: if one of the files is not usable.
        """
        name = self.split or latency_tokenizer(self.spoken)
        meter = ReportMeter(tokenizer(name))
        signatures, clocks = dict[str, None](), set[str]()
        for one in self.measured():
            meter.add(one.record, one.caption)
            signatures[one.record.signature] = None
            if one.caption is not None:
                clocks.add("ready_s" if one.caption.shown_s is None else "shown_s")
            if keep is not None:
                keep.append(one)
        erasure = " and ".join(signatures)
        if self.kind is ErasureRecord:
            return meter.report(str(self.path), "erasure", erasure)
        references = None if reference is None else read_lines(reference)
        if references is not None and len(references) != len(meter.segments):
            raise InputError(
                f"{reference} has {len(references)} lines, but {self.path} {len(meter.segments)} segments; "
                "give one line for each segment, in the order of the streams and of their segments"
            )
        length = "hypothesis" if references is None else "reference"
        latency = f"{_LATENCY}|ref:{length}|tok:{name}|cu:end_s|ca:{'+'.join(sorted(clocks))}"
        signature = f"latency {latency}|surtitle:{version('surtitle')}, erasure {erasure}"
        return meter.report(str(self.path), "caption", signature, references)


def _check_language(path: Path, event: Caption | ErasureRecord, languages: dict[str, str]) -> None:
    """Refuse a stream in two languages, and languages with different tokens; record the stream's language."""
    code = event.language
    if not code or not is_language(code):
        return
    first = next(iter(languages.values()), code)
    own = languages.setdefault(event.stream, code)
    other = own if own != code else first
    if own != code or _tokens(other) != _tokens(code):
        names = f"{language(other).name} and {language(code).name}"
        raise InputError(
            f"{path} has captions in {names}, which are not counted together; take one at a time: "
            f"""grep '"language":"{code}"' {path} > {code}.jsonl"""
        )


def _tokens(code: str) -> tuple[str, str]:
    one = language(code)
    return one.tokenizer, latency_tokenizer(one)


def _check_times(path: Path, caption: Caption) -> None:
    if caption.end_s < caption.start_s:
        raise InputError(
            f"{path}: stream {caption.stream!r}, segment {caption.segment}, revision {caption.revision}: "
            f"its speech ends at {caption.end_s:g} s, before it begins; correct its times"
        )


def kind_of(path: Path) -> type[Event]:
    """Whether a file holds captions or erasure records; raises `InputError` if neither."""
    kind = event_type_of(path)
    if kind not in (Caption, ErasureRecord):
        raise InputError(
            f"{path} holds {kind.__name__.lower()} events, which do not show what a viewer saw; "
            "give captions (written with --captions) or an erasure log (output.log)"
        )
    return kind


def language_of(path: Path, kind: type[Event]) -> Language | None:
    """The caption language by the first event of a file; None if it names none."""
    first: Any = next(read_events(path, kind, lambda _sentence: None), None)
    named = first.language if first is not None else None
    return language(named) if named and is_language(named) else None


def _report_cut(sentence: str) -> None:
    log_event("file_cut", cleaned(sentence))
