"""The command ``surtitle report``."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.running.loading import loading
from operators.errors import UsageError, printable

if TYPE_CHECKING:
    from flows.pages.reading import MeasuredUpdate, ReportInput


def report(
    events: Annotated[
        list[Path],
        typer.Argument(
            help="Captions, or an erasure log (JSONL); two files are compared.", metavar="EVENTS..."
        ),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            help="Language of the captions, for splitting them into tokens.",
            show_default="that of the events, or German",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the report as an HTML page here.")
    ] = None,
    reference: Annotated[
        Path | None, typer.Option(help="Reference translations, one line per segment, for AL and LAAL.")
    ] = None,
    split: Annotated[
        str | None,
        typer.Option("--tokenizer", help="Count latency in these tokens.", show_default="word, or char"),
    ] = None,
    json: Annotated[Path | None, typer.Option("--json", help="Write all figures here.")] = None,
    simulstream: Annotated[
        Path | None, typer.Option(help="Write the captions as a simulstream log here, for OmniSTEval.")
    ] = None,
) -> None:
    """Report the latency and stability of captions from the files of a run.

    A file of captions gives all figures. An erasure log contains no text, so its report shows erasure and
    latency only.
    """
    with loading():
        import msgspec

        from connectors.exports.simulstream import write_simulstream
        from connectors.files.atomic import write_atomically
        from connectors.files.distinct import check_distinct
        from connectors.jsonl.files import read_events
        from flows.pages.figures import print_report
        from flows.pages.report import Run, page
        from operators.events import Caption
        from operators.metrics.tokenizers import latency_tokenizer, tokenizer

    files = {"--output": output, "--json": json, "--simulstream": simulstream}
    if len(events) > 2:
        raise UsageError(f"{len(events)} files were given; give one to report on, or two to compare")
    if len(events) > 1 and (given := _given({"--json": json, "--simulstream": simulstream})):
        raise UsageError(f"{given} can be used with one file only; give one file")
    of_text = _given({"--reference": reference, "--tokenizer": split, "--simulstream": simulstream})
    readings = [_reading(path, to, split, of_text) for path in events]
    check_distinct(files.items(), [*events, reference])
    written = [path for path in files.values() if path is not None]
    runs = []
    for reading in readings:
        kept: list[MeasuredUpdate] = []
        figures = reading.report(reference, None if output is None else kept)
        runs.append(Run(figures, kept, reading.spoken))
    if json is not None:
        write_atomically(json, msgspec.json.format(msgspec.json.encode(runs[0].report)) + b"\n")
    if simulstream is not None:
        captions = read_events(events[0], Caption, lambda _sentence: None)
        write_simulstream(captions, simulstream, tokenizer(latency_tokenizer(readings[0].spoken)))
    if output is not None:
        write_atomically(output, page(runs).encode())
    for number, run in enumerate(runs, 1):
        if len(runs) > 1:
            typer.echo(f"{printable(run.report.source)}\n")
        print_report(run.report, written if number == len(runs) else [])


def _reading(path: Path, to: str | None, split: str | None, of_text: str) -> "ReportInput":
    """How to read a file; ``of_text`` names the options that need text."""
    with loading():
        from flows.pages.reading import ReportInput, kind_of, language_of
        from operators.events import ErasureRecord
        from operators.languages import language

    kind = kind_of(path)
    if kind is ErasureRecord and of_text:
        raise UsageError(
            f"{path} is an erasure log: it has no text for {of_text}; give a file of captions "
            "(written with --captions)"
        )
    spoken = language(to) if to else language_of(path, kind) or language("German")
    return ReportInput(path, kind, spoken, split)


def _given(options: dict[str, object]) -> str:
    return " and ".join(name for name, value in options.items() if value is not None)
