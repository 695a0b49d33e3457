"""Commands that run as a service.

``surtitle serve`` has rooms that speak from browsers; ``surtitle job`` runs a pipeline as a settings file
describes it, alone or as a process of a cluster.
"""

from pathlib import Path
from typing import Annotated

import typer
from msgspec.structs import replace

from flows.captions.runner import caption
from flows.cli.refusals import check_command
from flows.observe.audience import ROOMS
from flows.settings.loading import begin_settings
from flows.settings.options import (
    CLUSTER,
    RECOGNITION,
    RECOVERY,
    REPLACING,
    SENTENCES,
    SPEECH_OUTPUT,
    TRANSLATION,
    WATCHING,
    WORKERS,
    Group,
    Overrides,
    declared,
    override,
    sinks,
    takes,
)
from flows.settings.schema import Settings
from operators.parts import Option


@takes(RECOVERY, WORKERS, CLUSTER, WATCHING)
def job(
    overrides: Overrides,
    settings: Annotated[Path, typer.Argument(help="TOML file that names input and output.")],
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Nothing on the terminal but errors and the web page's address.")
    ] = False,
) -> None:
    """Run a pipeline that a settings file describes, from Kafka or files to Kafka or files, until it ends."""
    check_command(settings, "job")
    if quiet:
        overrides.setdefault("output", {})["terminal"] = False
    caption(begin_settings(settings, overrides), quiet=quiet, profile=False, settings_file=settings)


_LANGUAGES = declared("rooms", "to from")
_ROOMS: Group = (
    *_LANGUAGES,
    override("translate", "rooms", Option("Rooms at the same time.", default=str(ROOMS))),
    *declared("rooms", "folder keys silence_s"),
    override("web", "host", Option("Address to listen on.")),
    override("web", "port", Option("Its port, 0 for any.")),
)
_MODEL: Group = tuple(one for one in TRANSLATION if one.name not in {named.name for named in _LANGUAGES})
# What a single stream writes to a file would be a mixture of all rooms.
_FILES: Group = (*sinks("records", "captions"), *sinks("translations"), *declared("output", "summary"))


@takes(_ROOMS, _MODEL, RECOGNITION, SENTENCES, REPLACING, _FILES, SPEECH_OUTPUT, WATCHING)
def serve(
    overrides: Overrides,
    settings: Annotated[
        Path | None, typer.Option("--settings", help="TOML file; options override it.")
    ] = None,
) -> None:
    """Caption rooms that speak from browsers, many at the same time, until Ctrl-C."""
    overrides.setdefault("output", {})["terminal"] = False
    wanted = _completed(begin_settings(settings, overrides))
    caption(wanted, quiet=False, profile=False, settings_file=settings)


def _completed(wanted: Settings) -> Settings:
    """The settings, with what serving rooms implies."""
    spoken, written = wanted.rooms.spoken, wanted.rooms.written
    translate = replace(
        wanted.translate,
        rooms=wanted.translate.rooms or ROOMS,
        source=spoken[0] if spoken else wanted.translate.source,
        target=written[0] if written else wanted.translate.target,
    )
    if translate.captions_only:
        translate = replace(translate, target=translate.source)
    return replace(
        wanted,
        input=replace(wanted.input, rooms=True),
        translate=translate,
        web=replace(wanted.web, enabled=True),
    )
