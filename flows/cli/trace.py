"""The command ``surtitle trace``."""

from pathlib import Path
from typing import Annotated

import typer

from connectors.files.output import make_folder
from flows.running.loading import loading
from flows.settings.options import From, Glossary, Model, Set, SettingsFile, To, given_in
from operators.errors import UsageError


def trace(
    context: typer.Context,
    partials: Annotated[
        Path | None, typer.Argument(help="Partials (JSONL).", metavar="PARTIALS", show_default="--text")
    ] = None,
    to: To = None,
    source: From = None,
    model: Model = None,
    glossary: Glossary = None,
    segment: Annotated[int, typer.Option(min=0, help="Number of the segment.")] = 0,
    stream: Annotated[
        str | None, typer.Option(help="Stream of the segment, if several have one of that number.")
    ] = None,
    text: Annotated[
        str | None,
        typer.Option("--text", help="A sentence instead of partials, also compared with greedy decoding."),
    ] = None,
    settings: SettingsFile = None,
    set_: Set = None,
    svg: Annotated[Path | None, typer.Option("--svg", help="Write pictures to this folder (SVG).")] = None,
    json: Annotated[Path | None, typer.Option("--json", help="Write the trace here.")] = None,
) -> None:
    """Show which pass decided each token of one segment or sentence, as tables and pictures.

    For each token of each update, the trace shows its origin, the pass that decided it, its probability, and
    the model's own choice. With --text, it also shows which guesses of each pass were already right.
    """
    with loading():
        import msgspec

        from connectors.files.atomic import write_atomically
        from connectors.files.distinct import check_distinct, named_files
        from flows.engine.tracing import partials_of, record, whole
        from flows.engine.translation import open_engine
        from flows.pages.trace import print_trace, write_pictures
        from flows.running.progress import ProgressLine
        from flows.settings.loading import load

    has_text = bool(text and text.strip())
    if (partials is None) != has_text or (text is not None and (partials or segment or stream is not None)):
        raise UsageError("trace takes PARTIALS, with --segment and --stream, or --text: give one of them")
    loaded = load(settings, given_in(context))
    loaded.warn_of_unused()
    wanted = loaded.settings.translate
    models = named_files(wanted.model, wanted.template, *wanted.terminology, wanted.draft_model, wanted.heads)
    check_distinct([("--json", json)], [partials, settings, *models], [("--svg", svg)])
    if svg is not None:
        make_folder(svg)
    updates = whole(text or "") if partials is None else partials_of(partials, segment, stream)
    with ProgressLine(quiet=False, captions=False) as line:
        engine = open_engine(wanted, line.doing)
        made = record(engine, wanted, updates, line.doing, is_compared=text is not None)
    written = [str(json)] if json is not None else []
    if json is not None:
        write_atomically(json, msgspec.json.encode(made) + b"\n")
    if svg is not None:
        written.append(f"{write_pictures(made, svg)} pictures in {svg}")
    print_trace(made, written)
