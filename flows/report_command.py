"""``surtitle report``: its options, what it reads, and what it prints and writes."""

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from connectors.jsonl import check_writable, event_type_of, read_events
from connectors.simulstream import write_simulstream
from operators.errors import InputError, OutputError, UsageError
from operators.events import Caption, ErasureRecord, Event
from operators.languages import language
from operators.metrics.erasure import ErasureMeter
from operators.metrics.figures import Report
from operators.metrics.report import ReportMeter
from operators.metrics.tokenizers import erasure_signature, latency_tokenizer, tokenizer

#: How latency is counted; see docs/figures.md.
_LATENCY = "delay:final-prefix|al:simuleval|laal:simuleval|aggr:mean-of-segments|lag:all-tokens"

# Thirty years: nothing that is a stream's clock goes on for longer, and sums of what is here stay numbers.
_LONGEST_S = 1e9


def report(
    events: Annotated[Path, typer.Argument(help="Captions, or an erasure log (JSONL).")],
    to: Annotated[
        str | None,
        typer.Option("--to", help="Language of the captions: what they are split by.", show_default="German"),
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(help="Reference translations, a line for each segment: lengths for AL, LAAL."),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option("--tokenizer", help="Count latency in these tokens.", show_default="word, or char"),
    ] = None,
    json: Annotated[Path | None, typer.Option("--json", help="Write all figures here.")] = None,
    simulstream: Annotated[
        Path | None, typer.Option(help="Write the captions here, as a log that OmniSTEval reads.")
    ] = None,
) -> None:
    """Tell how late and how stable captions were, from what a run wrote.

    A file of captions tells everything. An erasure log has no text: it tells erasure and where the time went.
    """
    # Imported here: the other commands need none of it, and start the sooner.
    from flows.report_tables import print_report

    kind = _kind(events)
    if kind is ErasureRecord:
        _refuse_without_text(
            events, {"--reference": reference, "--tokenizer": split, "--simulstream": simulstream}
        )
    reading = [events] if reference is None else [events, reference]
    written = [path for path in (json, simulstream) if path is not None]
    for path in written:
        check_writable(path, reading=reading)
    if len({path.resolve() for path in written}) < len(written):
        raise UsageError(
            f"--json and --simulstream would both be written to {json}; choose another file for one"
        )
    spoken = language(to or "German")
    latency_name = split or latency_tokenizer(spoken)
    if kind is Caption:
        result = _of_captions(events, spoken.tokenizer, latency_name, reference)
    else:
        result = _of_records(events)
    if json is not None:
        _write_json(result, json)
    if simulstream is not None:
        write_simulstream(read_events(events, Caption), simulstream, tokenizer(latency_tokenizer(spoken)))
    print_report(result, written)


def _kind(events: Path) -> type[Event]:
    kind = event_type_of(events)
    if kind not in (Caption, ErasureRecord):
        raise InputError(
            f"{events} holds {kind.__name__.lower()} events, which say nothing about what a viewer saw; "
            "give captions (written with --captions) or an erasure log (--log)"
        )
    return kind


def _refuse_without_text(events: Path, options: dict[str, object]) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise UsageError(
            f"{events} is an erasure log: it has no text for {' and '.join(given)}; give a file of captions "
            "(written with --captions)"
        )


def _of_records(events: Path) -> Report:
    meter, signatures = ReportMeter(tokenizer("word")), dict[str, None]()
    for record in read_events(events, ErasureRecord):
        meter.add(record)
        signatures[record.signature] = None
    return meter.report(str(events), "erasure", " and ".join(signatures))


def _of_captions(events: Path, erasure_name: str, latency_name: str, reference: Path | None) -> Report:
    signature = erasure_signature(erasure_name, None)
    meter = ReportMeter(tokenizer(latency_name))
    erasures: dict[str, ErasureMeter] = {}
    clocks: dict[str, None] = {}
    for caption in read_events(events, Caption):
        _check_times(events, caption)
        if caption.stream not in erasures:
            erasures[caption.stream] = ErasureMeter(tokenizer(erasure_name), signature)
        meter.add(erasures[caption.stream].record(caption), caption)
        clocks["ready_s" if caption.shown_s is None else "shown_s"] = None
    references = None if reference is None else _references(reference, meter.segments, events)
    length = "hypothesis" if references is None else "reference"
    latency = f"{_LATENCY}|ref:{length}|tok:{latency_name}|cu:end_s|ca:{'+'.join(sorted(clocks))}"
    return meter.report(
        str(events),
        "caption",
        f"latency {latency}|surtitle:{version('surtitle')}, erasure {signature}",
        references,
    )


def _check_times(events: Path, caption: Caption) -> None:
    place = f"{events}: stream {caption.stream!r}, segment {caption.segment}, revision {caption.revision}"
    if caption.end_s < caption.start_s:
        raise InputError(
            f"{place}: its speech ends at {caption.end_s:g} s, before it begins; correct its times"
        )
    if max(caption.end_s, caption.arrival_s, caption.ready_s, caption.shown_s or 0.0) > _LONGEST_S:
        raise InputError(
            f"{place}: a time is greater than {_LONGEST_S:g} s; give seconds since the stream began"
        )


def _references(path: Path, segments: list[tuple[str, int]], events: Path) -> list[str]:
    lines = list(_lines(path))
    if len(lines) != len(segments):
        raise InputError(
            f"{path} has {len(lines)} lines, but {events} {len(segments)} segments; a reference is one line "
            "for each segment, in the order of the streams and of their segments"
        )
    return lines


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            yield from file
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8; save it as UTF-8") from None


def _write_json(result: Report, path: Path) -> None:
    try:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(result)) + b"\n")
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror}") from None
