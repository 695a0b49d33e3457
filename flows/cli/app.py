"""The command line: ``surtitle live``, ``file``, ``replay``, ``bench``, ``report``, ``trace`` …"""

import shlex
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from flows.cli.demo import demo
from flows.cli.doctor import doctor
from flows.cli.models import models_app
from flows.cli.program import Commands, check_command, program, run
from flows.cli.report import report
from flows.cli.serve import job, serve
from flows.cli.subtitle import subtitle
from flows.cli.trace import trace
from flows.measuring.commands import bench, loadgen, partials, reproduce
from flows.model.app import model_app
from flows.running.loading import loading
from flows.settings.options import (
    Captions,
    CaptionsOnly,
    Device,
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
    SpeakerNames,
    Speakers,
    SpeechModel,
    Srt,
    To,
    Txt,
    Vtt,
    Web,
    given_in,
)
from flows.settings.overrides import Overrides
from operators.addresses import is_address
from operators.errors import InputError, UsageError, printable

if TYPE_CHECKING:
    from connectors.microphone.devices import InputDevice


def devices() -> None:
    """List the microphones and monitors that `--device` can name, by index or by a part of the name."""
    with loading():
        from connectors.microphone.devices import list_devices

    found = list_devices()
    if not found:
        raise InputError("there is no microphone; connect one, or start the sound server that has it")
    print_devices(found)


def print_devices(found: "list[InputDevice]") -> None:
    """A star marks the default."""
    with loading():
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

    table = Table("", "index", "name", "channels", "rate", "system", box=None, pad_edge=False)
    for one in found:
        mark = "*" if one.is_default else ""
        cells = (mark, str(one.index), one.name, str(one.channels), f"{one.rate} Hz", one.host)
        table.add_row(*(Text(printable(cell)) for cell in cells))
    Console(highlight=False).print(table)


app = program()
#: The headings of the help, in this order.
_CAPTION, _SERVE, _MEASURE, _MAKE = "Caption", "Run as a service", "Measure", "Make a model"

Audio = Annotated[
    list[str] | None,
    typer.Argument(
        help="Sound or video: a file, several parts of one talk, an https:// address, or - for stdin.",
        show_default=False,
    ),
]
Address = Annotated[
    str | None,
    typer.Argument(
        help="Broadcast instead of the microphone: https://….m3u8 (HLS) or rtmp://….", show_default=False
    ),
]
Events = Annotated[Path, typer.Argument(help="Partials, translations or captions (JSONL).")]


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
    speakers: Speakers = None,
    speaker_names: SpeakerNames = None,
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
) -> None:
    """Translate speech from a microphone or a broadcast into captions, until Ctrl-C."""
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
    _caption(overrides, settings, quiet=quiet, microphone="default")


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
    speakers: Speakers = None,
    speaker_names: SpeakerNames = None,
    realtime: Realtime = False,
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
    _caption(overrides, settings, quiet=quiet)


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
) -> None:
    """Make captions from recorded events (partials, translations or captions) instead of sound."""
    overrides = given_in(context)
    check_command(events, "replay")
    with loading():
        from connectors.jsonl.files import event_type_of
        from flows.captions.inputs import REPLAYED

    event_type = event_type_of(events)
    if event_type not in REPLAYED:
        raise InputError(
            f"{events}: {event_type.__name__.lower()} events cannot be replayed into captions; "
            "give partials, translations or captions"
        )
    overrides.setdefault("input", {})[REPLAYED[event_type]] = str(events)
    _caption(overrides, settings, quiet=quiet)


app.command(rich_help_panel=_CAPTION)(subtitle)
app.command(rich_help_panel=_CAPTION)(demo)
app.command(rich_help_panel=_CAPTION)(devices)
app.command(rich_help_panel=_CAPTION)(doctor)
app.add_typer(models_app, name="models", cls=Commands, rich_help_panel=_CAPTION)
app.command(rich_help_panel=_SERVE)(serve)
app.command(rich_help_panel=_SERVE)(job)
app.command(rich_help_panel=_MEASURE)(report)
app.command(rich_help_panel=_MEASURE)(bench)
app.command(rich_help_panel=_MEASURE)(reproduce)
app.command(rich_help_panel=_MEASURE)(partials)
app.command(rich_help_panel=_MEASURE)(loadgen)
app.command(rich_help_panel=_MEASURE)(trace)
app.add_typer(model_app, name="model", cls=Commands, rich_help_panel=_MAKE)


def _caption(
    overrides: Overrides, settings: Path | None, *, quiet: bool, microphone: str | None = None
) -> None:
    """Run with these settings; ``microphone`` is the default input."""
    with loading():
        from msgspec.structs import replace

        from flows.captions.runner import caption
        from flows.cli.language import choose_language
        from flows.settings.loading import begin_settings

    if quiet:
        overrides.setdefault("output", {})["terminal"] = False
    if "web" in overrides:
        # Giving an address implies that the server is wanted.
        overrides["web"].setdefault("enabled", True)
    wanted = begin_settings(settings, overrides, choose_language)
    if wanted.input.microphone is None:
        wanted = replace(wanted, input=replace(wanted.input, microphone=microphone))
    caption(wanted, quiet=quiet, settings_file=settings)


def main() -> NoReturn:
    """Run the command line; the exit codes are those of `flows.cli.program.run`."""
    run(app)
