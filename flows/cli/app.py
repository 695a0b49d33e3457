"""The command line: ``surtitle live``, ``file``, ``replay``, ``bench``, ``report``, ``trace`` …"""

import shlex
import sys
from pathlib import Path, PurePath
from typing import Annotated, NoReturn

import typer
from msgspec.structs import replace

from connectors.jsonl.files import event_type_of
from connectors.microphone.devices import InputDevice, list_devices
from flows.captions.inputs import REPLAYED
from flows.captions.runner import caption
from flows.cli.doctor import doctor
from flows.cli.models import models_app
from flows.cli.program import Commands, check_command, program, run
from flows.cli.report import report
from flows.cli.serve import job, serve
from flows.cli.subtitle import subtitle
from flows.cli.trace import trace
from flows.measuring.commands import bench, bench_drafts, bench_speech, loadgen
from flows.model.app import model_app
from flows.settings.loading import Overrides, begin_settings
from flows.settings.options import (
    Captions,
    CaptionsOnly,
    Device,
    FinalsOnly,
    From,
    Glossary,
    Host,
    Model,
    Port,
    Quiet,
    Realtime,
    Recognizer,
    Recovery,
    Set,
    SettingsFile,
    SpeechModel,
    Srt,
    To,
    Txt,
    Vtt,
    Web,
    given_in,
)
from operators.addresses import is_address
from operators.errors import InputError, UsageError, printable


def devices() -> None:
    """List the microphones and monitors that `--device` can name, by index or by a part of the name."""
    found = list_devices()
    if not found:
        raise InputError("there is no microphone; connect one, or start the sound server that has it")
    print_devices(found)


def print_devices(found: list[InputDevice]) -> None:
    """Print a table for a person; a star marks the default."""
    rows = [("", "index", "name", "channels", "rate", "system")]
    rows += [_row(one) for one in found]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print(printable(" ".join(cells).rstrip()))
    sys.stdout.flush()


def _row(one: InputDevice) -> tuple[str, str, str, str, str, str]:
    mark = "*" if one.is_default else ""
    return mark, str(one.index), one.name, str(one.channels), f"{one.rate} Hz", one.host


app = program()
#: The headings of the help, in this order.
_CAPTION, _SERVE, _MEASURE, _MAKE = "Caption", "Run as a service", "Measure", "Make a model"

Audio = Annotated[
    list[str] | None,
    typer.Argument(
        help="Sound or video: a file, several of one talk, an https:// address, or - for standard input.",
        show_default=False,
    ),
]
Address = Annotated[
    str | None,
    typer.Argument(help="A broadcast instead: https://….m3u8 (HLS), or rtmp://….", show_default=False),
]
Events = Annotated[Path, typer.Argument(help="Partials, translations or captions (JSONL).")]
Profile = Annotated[
    bool, typer.Option("--profile", help="Print the time per update spent outside the model.")
]


@app.command(rich_help_panel=_CAPTION)
def live(
    context: typer.Context,
    address: Address = None,
    to: To = None,
    source: From = None,
    model: Model = None,
    glossary: Glossary = None,
    captions_only: CaptionsOnly = False,
    recognizer: Recognizer = None,
    speech_model: SpeechModel = None,
    device: Device = None,
    captions: Captions = None,
    srt: Srt = None,
    vtt: Vtt = None,
    txt: Txt = None,
    web: Web = False,
    host: Host = None,
    port: Port = None,
    recovery: Recovery = None,
    settings: SettingsFile = None,
    set_: Set = None,
    quiet: Quiet = False,
    profile: Profile = False,
) -> None:
    """Translate what a microphone hears or a broadcast says, until Ctrl-C."""
    overrides = given_in(context)
    if address is not None:
        if not is_address(address):
            one = shlex.quote(address)
            raise UsageError(
                f"{address} is no address; give one, use `surtitle file {one}` for a recording, or "
                f"`surtitle live --device {one}` for a device"
            )
        if "microphone" in overrides.setdefault("input", {}):
            raise UsageError("--device and an address are two inputs; give one of them")
        overrides["input"]["microphone"] = address
    wanted = begin_settings(settings, _completed(overrides, quiet))
    if wanted.input.microphone is None:
        wanted = replace(wanted, input=replace(wanted.input, microphone="default"))
    caption(wanted, quiet=quiet, profile=profile, settings_file=settings)


@app.command(rich_help_panel=_CAPTION)
def file(
    context: typer.Context,
    audio: Audio = None,
    to: To = None,
    source: From = None,
    model: Model = None,
    glossary: Glossary = None,
    captions_only: CaptionsOnly = False,
    recognizer: Recognizer = None,
    speech_model: SpeechModel = None,
    realtime: Realtime = False,
    finals_only: FinalsOnly = False,
    captions: Captions = None,
    srt: Srt = None,
    vtt: Vtt = None,
    txt: Txt = None,
    web: Web = False,
    host: Host = None,
    port: Port = None,
    recovery: Recovery = None,
    settings: SettingsFile = None,
    set_: Set = None,
    quiet: Quiet = False,
    profile: Profile = False,
) -> None:
    """Translate recorded speech into captions."""
    overrides = given_in(context)
    given = overrides.setdefault("input", {})
    if audio:
        for one in audio:
            check_command(PurePath(one), "file")
        given["audio"] = tuple(audio)
    inputs = sum(name in given for name in ("audio", "partials", "translations", "captions"))
    if not inputs and settings is None:
        raise UsageError("surtitle file needs AUDIO: a recording; write: surtitle file AUDIO")
    if inputs > 1:
        raise UsageError(
            "give one input: AUDIO, or one of input.partials, input.translations and input.captions"
        )
    caption(
        begin_settings(settings, _completed(overrides, quiet)),
        quiet=quiet,
        profile=profile,
        settings_file=settings,
    )


@app.command(rich_help_panel=_CAPTION)
def replay(
    context: typer.Context,
    events: Events,
    to: To = None,
    source: From = None,
    model: Model = None,
    glossary: Glossary = None,
    captions_only: CaptionsOnly = False,
    realtime: Realtime = False,
    finals_only: FinalsOnly = False,
    captions: Captions = None,
    srt: Srt = None,
    vtt: Vtt = None,
    txt: Txt = None,
    web: Web = False,
    host: Host = None,
    port: Port = None,
    recovery: Recovery = None,
    settings: SettingsFile = None,
    set_: Set = None,
    quiet: Quiet = False,
    profile: Profile = False,
) -> None:
    """Run the rest of the chain from recorded partials, translations or captions."""
    overrides = given_in(context)
    check_command(events, "replay")
    event_type = event_type_of(events)
    if event_type not in REPLAYED:
        raise InputError(
            f"{events}: {event_type.__name__.lower()} events cannot be replayed into captions; "
            "give partials, translations or captions"
        )
    overrides.setdefault("input", {})[REPLAYED[event_type]] = str(events)
    caption(
        begin_settings(settings, _completed(overrides, quiet)),
        quiet=quiet,
        profile=profile,
        settings_file=settings,
    )


app.command(rich_help_panel=_CAPTION)(subtitle)
app.command(rich_help_panel=_CAPTION)(devices)
app.command(rich_help_panel=_CAPTION)(doctor)
app.add_typer(models_app, name="models", cls=Commands, rich_help_panel=_CAPTION)
app.command(rich_help_panel=_SERVE)(serve)
app.command(rich_help_panel=_SERVE)(job)
app.command(rich_help_panel=_MEASURE)(report)
for command in (bench, bench_drafts, bench_speech, loadgen):
    app.command(rich_help_panel=_MEASURE)(command)
app.command(rich_help_panel=_MEASURE)(trace)
app.add_typer(model_app, name="model", cls=Commands, rich_help_panel=_MAKE)


def _completed(overrides: Overrides, quiet: bool) -> Overrides:
    if quiet:
        overrides.setdefault("output", {})["terminal"] = False
    if "web" in overrides:
        # Giving an address implies that the server is wanted.
        overrides["web"].setdefault("enabled", True)
    return overrides


def main() -> NoReturn:
    """Run the command line; the exit codes are those of `flows.cli.program.run`."""
    run(app)
