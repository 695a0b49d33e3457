"""``surtitle doctor``: whether captions will work on this machine, and what to do if not."""

import sys
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from flows.cli.running import program, run
from flows.doctor.examination import Wanted, examine
from flows.doctor.finding import as_json, print_checked, print_verdict, works
from flows.running.waiting import Waiting
from flows.settings.loading import load_settings
from flows.settings.options import CAPTIONS_ONLY, LISTENING, MODEL, Overrides, takes


@takes(MODEL[:3], CAPTIONS_ONLY, LISTENING)
def doctor(
    overrides: Overrides,
    quick: Annotated[bool, typer.Option("--quick", help="Do not measure how fast captions will be.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, with the facts behind the findings.")
    ] = False,
) -> None:
    """Check microphone, model and speed on this machine, and say what to do.

    Nothing is downloaded. The exit code is 0 if captions will work, and 1 otherwise.
    """
    settings = load_settings(None, overrides)
    # A wrong language is a mistake on the command line, not a finding about this machine.
    _ = settings.translate.direction
    wanted = Wanted(settings.translate, settings.input.microphone, quick)
    console = Console(highlight=False)
    results = []
    with Waiting(quiet=json, captions=False) as waiting:
        for result in examine(wanted, waiting.doing):
            waiting.end()
            results.append(result)
            if not json:
                print_checked(console, result)
    if json:
        sys.stdout.buffer.write(as_json(results) + b"\n")
    else:
        print_verdict(console, results, settings.translate.direction)
    raise typer.Exit(0 if works(results) else 1)


def main() -> NoReturn:
    """Run this command without the others, which load llama.cpp: it may be what is wrong."""
    app = program()
    app.command()(doctor)
    run(app)
