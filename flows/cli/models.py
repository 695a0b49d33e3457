"""``surtitle models``: the named models, and which of them keep up on this machine."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.running.loading import loading
from flows.settings.options import SettingsFile
from operators.errors import UsageError, printable

if TYPE_CHECKING:
    from rich.table import Table

    from connectors.models.catalog import NamedModel
    from flows.engine.choice import Candidate

models_app = typer.Typer(invoke_without_command=True)
_MAX_LANGUAGES = 6


@models_app.callback()
def models(
    context: typer.Context,
    source: Annotated[
        str | None, typer.Option("--from", help="Language of the speech.", show_default="any")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--to", help="Language of the captions.", show_default="any")
    ] = None,
    speech: Annotated[bool, typer.Option("--speech", help="List the speech models instead.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List the named translation models, and how fast each would be on this machine."""
    if context.invoked_subcommand is not None:
        return
    if speech:
        _list_speech(source, target, as_json=json)
        return
    if (source is None) != (target is None):
        raise UsageError("models: give both --from and --to, or neither")
    with loading():
        import msgspec
        from rich.console import Console

        from connectors.machine.resources import available_mb
        from flows.engine.choice import advice, best, candidates
        from flows.engine.costs import measured_here
        from flows.running.progress import ProgressLine
        from operators.languages import Direction, language
        from operators.recognizers.moonshine import COMMUNITY

    direction = None if source is None or target is None else Direction(language(source), language(target))
    with ProgressLine(quiet=json, captions=False) as line:
        reference, measured = measured_here(direction, line.doing)
    found = candidates(direction, reference, measured)
    chosen = best(found, available_mb())
    if json:
        is_steady = reference is None or reference.is_steady
        answer = {"models": found, "best": chosen and chosen.name, "is_steady": is_steady}
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(answer)) + b"\n")
        return
    console = Console(highlight=False)
    console.print(_table(found, with_languages=direction is None))
    for one in found:
        if use := _use(one):
            console.print(f"{one.name}: {use}")
    if direction is not None and direction.source.code in COMMUNITY:
        terms = "no commercial use (Moonshine Community License, www.moonshine.ai/license)"
        console.print(f"Moonshine's model for {direction.source.name}: {terms}")
    console.print(
        "\nms: time of an update on this machine, measured, or ~ estimated from a measured model by size"
    )
    if reference is not None and not reference.is_steady:
        console.print("Other programs slowed the measurement down: repeat this command in an hour.")
    if direction is not None:
        console.print(f"For {direction}, {advice(found, available_mb())}.")
    console.print("surtitle models get NAME downloads one; --model NAME uses it in any command.")


def _list_speech(source: str | None, target: str | None, *, as_json: bool) -> None:
    if target is not None:
        raise UsageError("models --speech: speech models have no --to; leave it out")
    with loading():
        from flows.cli.speech import list_speech

    list_speech(source, as_json=as_json)


@models_app.command()
def get(
    name: Annotated[str, typer.Argument(help="A name of `surtitle models`, or hub:OWNER/REPO:FILE.gguf.")],
    speech: Annotated[bool, typer.Option("--speech", help="NAME is of `surtitle models --speech`.")] = False,
    source: Annotated[
        str | None,
        typer.Option("--from", help="Language of the speech, for firefox and opus-mt.", show_default="none"),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--to", help="Language of the captions, or several: German,French.", show_default="none"
        ),
    ] = None,
    settings: SettingsFile = None,
) -> None:
    """Download a model into the cache; models of the hub go into the cache of huggingface_hub.

    For firefox, the newest model is downloaded even if an older one is here.
    """
    with loading():
        from functools import partial

        from connectors.models.catalog import catalog
        from connectors.models.firefox import FIREFOX, fetch_firefox
        from connectors.models.opus import fetch_opus
        from connectors.models.resolve import resolve_model
        from connectors.models.voices import VOICES
        from flows.running.progress import ProgressLine
        from flows.settings.loading import load_settings
        from operators.languages import Direction

    if speech or name == VOICES:
        if source is not None or target is not None:
            raise UsageError(f"models get {name}: leave out --from and --to")
        with loading():
            from flows.cli.speech import get_speech

        get_speech(name)
        return
    if ":" not in name and name not in catalog():
        raise UsageError(f"there is no model {name}; `surtitle models` lists them")
    if (named := catalog().get(name)) is not None and named.comes_with_surtitle:
        print(f"{name} comes with surtitle.")
        return
    is_per_pair = named is not None and named.is_per_pair
    if is_per_pair and (source is None or target is None):
        raise UsageError(f"models get {name}: each language pair has its own model; give --from and --to")
    if not is_per_pair and (source is not None or target is not None):
        raise UsageError(f"models get {name}: it is one file for all languages; leave out --from and --to")
    with ProgressLine(quiet=False, captions=False) as line:
        if source is None or target is None:
            paths = [resolve_model(name, progress=line.doing)]
        else:
            directions = [Direction.of(source, one) for one in target.split(",")]
            registry = load_settings(settings).translate.registry
            fetch = partial(fetch_firefox, registry=registry) if name == FIREFOX else fetch_opus
            paths = [fetch(one, line.doing) for one in directions]
    print(*(printable(str(one)) for one in paths), sep="\n")
    if named is not None and (use := _use(named)):
        print(f"{named.licence}: {use}.")
    elif named is None and (licence := _licence(paths[0])):
        print(f"Its licence: {printable(licence)}.")


def _licence(path: Path) -> str:
    with loading():
        from connectors.models.gguf import read_gguf

    return read_gguf(path).text("general.license")


def _table(found: "list[Candidate]", *, with_languages: bool) -> "Table":
    with loading():
        from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("name", no_wrap=True)
    for heading in ("what it is", *(["languages"] if with_languages else []), "licence"):
        table.add_column(heading)
    for heading in ("GB", "memory", "ms", "here"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in found:
        table.add_row(
            one.name,
            one.what,
            *([_languages(one.languages)] if with_languages else []),
            one.licence,
            f"{one.megabytes / 1000:.2g}",
            f"{one.memory_mb / 1000:.1f}",
            "" if one.update_ms is None else f"{'' if one.is_measured else '~'}{one.update_ms:,.0f}",
            "yes" if one.is_here else "",
        )
    return table


def _languages(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= _MAX_LANGUAGES else str(len(names))


def _use(one: "Candidate | NamedModel") -> str:
    """Restrictions of a model's licence; empty if there are none."""
    return one.terms or one.asks if one.commercial else "no commercial use"
