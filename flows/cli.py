"""The command line: ``surtitle file``, ``surtitle replay``, ``surtitle bench`` and ``surtitle report``."""

import os
import sys
import traceback
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from connectors.jsonl import event_type_of
from flows.bench.command import bench
from flows.captioning import REPLAYED, caption
from flows.devices import devices
from flows.options import (
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
    WEB,
    WORKERS,
    Overrides,
    takes,
)
from flows.report_command import report
from flows.settings import load_settings
from operators.errors import INTERNAL_EXIT_CODE, InputError, SurtitleError, UsageError

app = typer.Typer(
    name="surtitle",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Live speech translation whose captions hardly flicker.",
)

app.command()(bench)
app.command()(report)
app.command()(devices)

Audio = Annotated[Path | None, typer.Argument(help="A wav or flac file.", show_default=False)]
Events = Annotated[Path, typer.Argument(help="Partials, translations or captions (JSONL).")]
SettingsFile = Annotated[Path | None, typer.Option("--settings", help="TOML file; options override it.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="Nothing on the terminal but errors and the web page's address.")
]
Profile = Annotated[bool, typer.Option("--profile", help="Print what an update costs beside the model.")]


@app.command()
@takes(LISTENING, TRANSLATION, RECOGNITION, KEEPING_UP, OUTPUT, SPEECH_OUTPUT, AUDIO_OUTPUT, RECOVERY, WEB)
def live(
    overrides: Overrides,
    settings: SettingsFile = None,
    quiet: Quiet = False,
    profile: Profile = False,
) -> None:
    """Translate what a microphone hears, until Ctrl-C."""
    given = load_settings(settings).input if settings else None
    if given is None or given.microphone is None:
        overrides.setdefault("input", {}).setdefault("microphone", "default")
    caption(load_settings(settings, _completed(overrides, quiet)), quiet=quiet, profile=profile)


@app.command()
@takes(TRANSLATION, RECOGNITION, PACE, REPLAYS, EVENTS, OUTPUT, SPEECH_OUTPUT, RECOVERY, WORKERS, WEB)
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
    caption(load_settings(settings, _completed(overrides, quiet)), quiet=quiet, profile=profile)


@app.command()
@takes(TRANSLATION, PACE, EVENTS, OUTPUT, RECOVERY, WORKERS, WEB)
def replay(
    overrides: Overrides,
    events: Events,
    settings: SettingsFile = None,
    quiet: Quiet = False,
    profile: Profile = False,
) -> None:
    """Run the chain from recorded events on; the kind of event is found out from the file."""
    event_type = event_type_of(events)
    if event_type not in REPLAYED:
        raise InputError(
            f"{events}: {event_type.__name__.lower()} events cannot be replayed into captions; "
            "give partials, translations or captions"
        )
    overrides.setdefault("input", {})[REPLAYED[event_type]] = str(events)
    caption(load_settings(settings, _completed(overrides, quiet)), quiet=quiet, profile=profile)


def _completed(overrides: Overrides, quiet: bool) -> Overrides:
    if quiet:
        overrides.setdefault("output", {})["terminal"] = False
    if "web" in overrides:
        # Whoever says where wants it.
        overrides["web"].setdefault("enabled", True)
    return overrides


def _forget_output() -> None:
    """Keep Python from complaining once more when it flushes into a pipe that nobody reads."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(error: SurtitleError) -> NoReturn:
    print(f"surtitle: {error}", file=sys.stderr)
    sys.exit(error.exit_code)


def main() -> NoReturn:
    """Run the command line; the exit code tells usage (2), input (3), output (4) and internal errors (70)."""
    try:
        app()
    except SurtitleError as error:
        _forget_output()
        _fail(error)
    except Exception:  # noqa: BLE001 - the last resort: whatever it is, it is our defect
        traceback.print_exc()
        print(
            "surtitle: this is a defect of surtitle; please report it with the lines above", file=sys.stderr
        )
        sys.exit(INTERNAL_EXIT_CODE)
    sys.exit(0)
