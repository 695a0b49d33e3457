"""``surtitle doctor``: whether captions will work on this machine, and what to do if not."""

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import msgspec
import typer
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from connectors.http.download import OFFLINE_VARIABLE
from flows.doctor.checks import Result, Verdict, examine
from flows.running.progress import ProgressLine
from flows.settings.loading import load_settings
from flows.settings.options import (
    CaptionsOnly,
    Device,
    From,
    Model,
    Recognizer,
    Set,
    SettingsFile,
    SpeechModel,
    To,
    given_in,
)
from operators.errors import printable
from operators.languages import Direction
from operators.prompts.template import CORRECT


def doctor(
    context: typer.Context,
    to: To = None,
    source: From = None,
    model: Model = None,
    captions_only: CaptionsOnly = False,
    recognizer: Recognizer = None,
    speech_model: SpeechModel = None,
    device: Device = None,
    settings: SettingsFile = None,
    set_: Set = None,
    quick: Annotated[bool, typer.Option("--quick", help="Do not measure how fast captions will be.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the findings as one JSON object.")] = False,
) -> None:
    """Check microphone, model and speed on this machine, and say what to do.

    Nothing is downloaded. The exit code is 0 if captions will work, and 1 otherwise.
    """
    # A model of the hub is used only if it was fetched before.
    os.environ["HF_HUB_OFFLINE"] = os.environ[OFFLINE_VARIABLE] = "1"
    wanted, results = load_settings(settings, given_in(context), takes_several=True), list[Result]()
    # A wrong language is a mistake on the command line, not a finding about this machine.
    directions = wanted.translate.directions
    console = Console(highlight=False)
    with ProgressLine(quiet=json, captions=False) as line:
        for result in examine(wanted, line.doing, is_quick=quick):
            line.end()
            results.append(result)
            if not json:
                print_result(console, result)
    problems = [one.subject for one in results if one.verdict == "problem"]
    if json:
        record = msgspec.json.encode({"works": not problems, "checks": results})
        sys.stdout.buffer.write(msgspec.json.format(record) + b"\n")
    else:
        console.print(
            Text(f"\n{conclusion(results, directions, corrects=wanted.translate.corrects)}", "bold")
        )
    raise typer.Exit(1 if problems else 0)


_STYLES: dict[Verdict, str] = {"ok": "green", "warning": "yellow", "problem": "bold red"}


def print_result(console: Console, result: Result) -> None:
    table = Table.grid(padding=(0, 1))
    table.add_column(width=7)
    table.add_column(min_width=10, no_wrap=True)
    table.add_column(ratio=1)
    for number, one in enumerate(result.findings):
        cell = [Text(printable(one.sentence)), *([Text(printable(one.remedy), "bold")] if one.remedy else [])]
        table.add_row(Text(one.verdict, _STYLES[one.verdict]), "" if number else result.subject, Group(*cell))
    console.print(table)


def conclusion(results: Sequence[Result], languages: Sequence[Direction], *, corrects: bool = False) -> str:
    if problems := [one.subject for one in results if one.verdict == "problem"]:
        return f"Captions will not work yet: see {', '.join(problems)}."
    can_listen = all(one.verdict == "ok" for one in results if one.subject == "microphone")
    command = "surtitle live" if can_listen else "surtitle file talk.wav"
    spoken, written = languages[0].source, ",".join(one.target.name for one in languages)
    options = f"--to {written}" if any(one.translates for one in languages) else "--captions-only"
    if corrects:
        options = f"--to {written} --set translate.template={CORRECT}"
    if spoken.name != "English":
        options += f" --from {spoken.name}"
    return f"Captions will work. Try: {command} {options}"
