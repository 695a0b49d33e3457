"""The command line: ``surtitle live``, ``file``, ``replay``, ``bench``, ``report``, ``trace`` …"""

import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from msgspec.structs import replace

from connectors.jsonl.reading import event_type_of
from connectors.messages.log import begin_messages, tell
from flows.captions.inputs import REPLAYED
from flows.captions.runner import caption
from flows.cli.bench import bench
from flows.cli.bench_drafts import bench_drafts
from flows.cli.bench_rooms import bench_rooms
from flows.cli.bench_speech import bench_speech
from flows.cli.completion import completion_errors
from flows.cli.devices import devices
from flows.cli.exits import fail, wants_json
from flows.cli.job import job
from flows.cli.loadgen import loadgen
from flows.cli.report import report
from flows.cli.serve import serve
from flows.cli.trace import trace
from flows.cli.version import program
from flows.model.app import model_app
from flows.settings.loading import begin_settings
from flows.settings.options import (
    AUDIO_OUTPUT,
    EVENTS,
    KEEPING_UP,
    LISTENING,
    OUTPUT,
    PACE,
    RECOGNITION,
    RECOVERY,
    REPLAYS,
    SPEECH_OUTPUT,
    TRANSLATION,
    WATCHING,
    WEB,
    WORKERS,
    Overrides,
    takes,
)
from operators.errors import INTERNAL_EXIT_CODE, InputError, SurtitleError, UsageError

app = typer.Typer(
    name="surtitle",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

app.callback()(program)
app.command()(bench)
app.command("bench-speech")(bench_speech)
app.command("bench-drafts")(bench_drafts)
app.command("bench-rooms")(bench_rooms)
app.command()(loadgen)
app.command()(report)
app.command()(trace)
app.command()(devices)
app.command()(job)
app.command()(serve)
app.add_typer(model_app, name="model")

Audio = Annotated[Path | None, typer.Argument(help="A wav or flac file.", show_default=False)]
Events = Annotated[Path, typer.Argument(help="Partials, translations or captions (JSONL).")]
SettingsFile = Annotated[Path | None, typer.Option("--settings", help="TOML file; options override it.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print only errors and the web page's address.")]
Profile = Annotated[bool, typer.Option("--profile", help="Print what an update costs besides the model.")]


@app.command()
@takes(
    LISTENING,
    TRANSLATION,
    RECOGNITION,
    KEEPING_UP,
    OUTPUT,
    SPEECH_OUTPUT,
    AUDIO_OUTPUT,
    RECOVERY,
    WEB,
    WATCHING,
)
def live(
    overrides: Overrides,
    settings: SettingsFile = None,
    quiet: Quiet = False,
    profile: Profile = False,
) -> None:
    """Translate what a microphone hears, until Ctrl-C."""
    wanted = begin_settings(settings, _completed(overrides, quiet))
    if wanted.input.microphone is None:
        wanted = replace(wanted, input=replace(wanted.input, microphone="default"))
    caption(wanted, quiet=quiet, profile=profile, settings_file=settings)


@app.command()
@takes(
    TRANSLATION, RECOGNITION, PACE, REPLAYS, EVENTS, OUTPUT, SPEECH_OUTPUT, RECOVERY, WORKERS, WEB, WATCHING
)
def file(
    overrides: Overrides,
    audio: Audio = None,
    settings: SettingsFile = None,
    quiet: Quiet = False,
    profile: Profile = False,
) -> None:
    """Translate recorded speech into captions."""
    given = overrides.setdefault("input", {})
    if audio is not None:
        given["audio"] = str(audio)
    if sum(name in given for name in ("audio", "partials", "translations", "captions")) > 1:
        raise UsageError(
            "give one input: AUDIO, or one of --from-partials, --from-translations, --from-captions"
        )
    caption(
        begin_settings(settings, _completed(overrides, quiet)),
        quiet=quiet,
        profile=profile,
        settings_file=settings,
    )


@app.command()
@takes(TRANSLATION, PACE, EVENTS, OUTPUT, RECOVERY, WORKERS, WEB, WATCHING)
def replay(
    overrides: Overrides,
    events: Events,
    settings: SettingsFile = None,
    quiet: Quiet = False,
    profile: Profile = False,
) -> None:
    """Run the rest of the chain from recorded partials, translations or captions."""
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


# The exception that Typer raises for an invalid command line; it has no public name.
_BAD_COMMAND_LINE: Any = typer.BadParameter.__bases__[0]


def _completed(overrides: Overrides, quiet: bool) -> Overrides:
    if quiet:
        overrides.setdefault("output", {})["terminal"] = False
    if "web" in overrides:
        # Giving an address implies that the server is wanted.
        overrides["web"].setdefault("enabled", True)
    return overrides


def _check_arguments(arguments: Sequence[str]) -> None:
    """Refuse arguments with lone surrogates: they are not text, and can be neither printed nor written."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise UsageError(f"{argument} is not UTF-8; give the file another name") from None


def main() -> NoReturn:
    """Run the command line; exit codes: usage (2), input (3), output (4), internal errors (70)."""
    is_json = wants_json(sys.argv[1:])
    begin_messages("json" if is_json else "text")
    code = 0
    try:
        _check_arguments(sys.argv[1:])
        # Typer would draw a box around its messages about the command line.
        with completion_errors(sys.argv[1:]):
            code = app(standalone_mode=not is_json)
    except SurtitleError as error:
        fail(error)
    except _BAD_COMMAND_LINE as error:
        tell("usage_error", error.format_message(), level=logging.ERROR, exit_code=UsageError.exit_code)
        sys.exit(UsageError.exit_code)
    except Exception as error:  # noqa: BLE001 - the last resort: any other exception is our bug
        sentence = "this is a defect in surtitle; please report it with the lines above"
        tell("internal_error", sentence, level=logging.CRITICAL, error=error, exit_code=INTERNAL_EXIT_CODE)
        sys.exit(INTERNAL_EXIT_CODE)
    sys.exit(code or 0)
