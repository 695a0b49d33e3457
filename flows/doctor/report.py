"""Prints what `surtitle doctor` finds, and its conclusion."""

import os
import sys
from collections.abc import Sequence

import msgspec
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from connectors.http.download import OFFLINE_VARIABLE
from flows.doctor.checks import Result, Verdict, examine
from flows.running.progress import ProgressLine
from flows.settings.schema import Settings
from operators.errors import printable
from operators.languages import Direction
from operators.prompts.template import CORRECT


def works(wanted: Settings, *, is_quick: bool, as_json: bool) -> bool:
    """Print the findings about this machine, and return whether captions will work."""
    # A model of the hub is used only if it was downloaded before.
    os.environ["HF_HUB_OFFLINE"] = os.environ[OFFLINE_VARIABLE] = "1"
    results = list[Result]()
    console = Console(highlight=False)
    with ProgressLine(quiet=as_json, captions=False) as line:
        for result in examine(wanted, line.doing, is_quick=is_quick):
            line.end()
            results.append(result)
            if not as_json:
                print_result(console, result)
    problems = [one.subject for one in results if one.verdict == "problem"]
    if as_json:
        record = msgspec.json.encode({"works": not problems, "checks": results})
        sys.stdout.buffer.write(msgspec.json.format(record) + b"\n")
    else:
        console.print(
            Text(
                f"\n{conclusion(results, wanted.translate.directions, corrects=wanted.translate.corrects)}",
                "bold",
            )
        )
    return not problems


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
