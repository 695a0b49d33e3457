"""``surtitle doctor``: whether captions will work on this machine, and what to do if not."""

import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from flows.cli.running import program, run
from flows.doctor.examination import examine
from flows.doctor.finding import Checked, as_json, print_checked, print_verdict, works
from flows.doctor.part import Given
from flows.running.waiting import Waiting
from flows.settings.options import CAPTIONS_ONLY, LISTENING, MODEL, RECOGNITION, Overrides, takes


@takes(MODEL[:3], RECOGNITION, CAPTIONS_ONLY, LISTENING)
def doctor(
    overrides: Overrides,
    settings: Annotated[
        Path | None, typer.Option(help="Examine what this TOML file names; options override it.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Do not measure how fast captions will be.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object, with the facts behind the findings.")
    ] = False,
) -> None:
    """Check microphone, model and speed on this machine, and say what to do.

    Nothing is downloaded. The exit code is 0 if captions will work, and 1 otherwise.
    """
    given, results = Given(settings, overrides), list[Checked]()
    directions = given.load().translate.directions
    console = Console(highlight=False)
    with Waiting(quiet=json, captions=False) as waiting:
        for result in examine(given, waiting.doing, is_quick=quick):
            waiting.end()
            results.append(result)
            if not json:
                print_checked(console, result)
    if json:
        sys.stdout.buffer.write(as_json(results) + b"\n")
    else:
        print_verdict(console, results, directions)
    raise typer.Exit(0 if works(results) else 1)


def main() -> NoReturn:
    """Run this command without the others, which load llama.cpp: it may be what is wrong."""
    app = program()
    app.command()(doctor)
    run(app)
