"""The command ``surtitle trace``."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from connectors.files.atomic import write_atomically
from connectors.files.distinct import check_distinct, named_files
from connectors.files.output import make_folder
from flows.running.progress import ProgressLine
from flows.settings.loading import load
from flows.settings.options import From, Glossary, Model, Set, SettingsFile, To, given_in


def trace(
    context: typer.Context,
    partials: Annotated[Path, typer.Argument(help="Partials (JSONL).", metavar="PARTIALS")],
    to: To = None,
    source: From = None,
    model: Model = None,
    glossary: Glossary = None,
    segment: Annotated[int, typer.Option(min=0, help="Number of the segment.")] = 0,
    stream: Annotated[
        str | None, typer.Option(help="Its stream, if several have a segment of that number.")
    ] = None,
    settings: SettingsFile = None,
    set_: Set = None,
    svg: Annotated[Path | None, typer.Option("--svg", help="Write pictures to this folder (SVG).")] = None,
    json: Annotated[Path | None, typer.Option("--json", help="Write the trace here.")] = None,
) -> None:
    """Show which pass decided each token of one segment, as tables and pictures.

    For each token of each update, the trace says where it came from, which pass decided it, how probable it
    was, and what the model would have said instead.
    """
    # Imported here because other commands do not need it and should start fast.
    from flows.engine.tracing import partials_of, record
    from flows.engine.translation import open_engine
    from flows.pages.trace import print_trace, write_pictures

    loaded = load(settings, given_in(context))
    loaded.warn_of_unused()
    wanted = loaded.settings.translate
    models = named_files(wanted.model, wanted.template, *wanted.terminology, wanted.draft_model, wanted.heads)
    check_distinct([("--json", json)], [partials, settings, *models], [("--svg", svg)])
    if svg is not None:
        make_folder(svg)
    updates = partials_of(partials, segment, stream)
    with ProgressLine(quiet=False, captions=False) as line:
        made = record(open_engine(wanted, line.doing), wanted, updates, line.doing)
    written = [str(json)] if json is not None else []
    if json is not None:
        write_atomically(json, msgspec.json.encode(made) + b"\n")
    if svg is not None:
        written.append(f"{write_pictures(made, svg)} pictures in {svg}")
    print_trace(made, written)
