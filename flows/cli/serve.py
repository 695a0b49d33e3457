"""Commands that run as a service.

``surtitle serve`` captions rooms whose speakers use browsers; ``surtitle job`` runs the pipeline of a
settings file, alone or as a process of a cluster.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.program import check_command
from flows.running.loading import loading
from flows.settings.options import (
    Captions,
    CaptionsOnly,
    Glossary,
    Host,
    Model,
    Port,
    Quiet,
    Recognizer,
    Recovery,
    RoomsFrom,
    RoomsTo,
    Set,
    SettingsFile,
    SpeakerNames,
    Speakers,
    SpeechModel,
    given_in,
)

if TYPE_CHECKING:
    from flows.settings.schema import Settings
    from flows.settings.translate import TranslateSettings


def job(
    context: typer.Context,
    settings: Annotated[Path, typer.Argument(help="TOML file that names input and output.")],
    recovery: Recovery = None,
    set_: Set = None,
    quiet: Quiet = False,
) -> None:
    """Run the pipeline of a settings file, from Kafka or files to Kafka or files, until the input ends."""
    check_command(settings, "job")
    with loading():
        from flows.captions.runner import caption
        from flows.settings.loading import begin_settings

    overrides = given_in(context)
    if quiet:
        overrides.setdefault("output", {})["terminal"] = False
    caption(begin_settings(settings, overrides), quiet=quiet, settings_file=settings)


def serve(
    context: typer.Context,
    rooms_to: RoomsTo = None,
    rooms_from: RoomsFrom = None,
    model: Model = None,
    glossary: Glossary = None,
    captions_only: CaptionsOnly = False,
    recognizer: Recognizer = None,
    speech_model: SpeechModel = None,
    speakers: Speakers = None,
    speaker_names: SpeakerNames = None,
    captions: Captions = None,
    host: Host = None,
    port: Port = None,
    settings: SettingsFile = None,
    set_: Set = None,
) -> None:
    """Caption several rooms at once, until Ctrl-C; speakers and viewers use browsers."""
    with loading():
        from msgspec.structs import replace

        from flows.captions.runner import caption
        from flows.settings.loading import begin_settings

    overrides = given_in(context)
    overrides.setdefault("output", {})["terminal"] = False
    overrides.setdefault("input", {})["rooms"] = True
    overrides.setdefault("web", {})["enabled"] = True
    wanted = begin_settings(settings, overrides)
    wanted = replace(wanted, translate=_completed(wanted))
    caption(wanted, quiet=False, settings_file=settings)


def _completed(wanted: "Settings") -> "TranslateSettings":
    """Add the settings that serving rooms implies."""
    with loading():
        from msgspec.structs import replace

        from flows.observe.audience import ROOMS

    spoken, written = wanted.rooms.spoken, wanted.rooms.written
    translate = replace(
        wanted.translate,
        rooms=wanted.translate.rooms or ROOMS,
        source=spoken or wanted.translate.source,
        to=written[0] if written else wanted.translate.to,
    )
    return replace(translate, to=translate.sources[0]) if translate.captions_only else translate
