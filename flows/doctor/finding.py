"""What a check finds and how it is printed: a sentence, whether captions will work, and what to do."""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, Literal, Self

import msgspec
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from connectors.view import encodable
from operators.errors import printable
from operators.languages import Direction

#: All is well; captions work, but not as well as they could; captions will not work.
Verdict = Literal["ok", "warning", "problem"]
_WORST: tuple[Verdict, ...] = ("ok", "warning", "problem")


class Finding(msgspec.Struct, frozen=True):
    """One thing that was found."""

    verdict: Verdict
    #: What was found, as a sentence without a full stop.
    sentence: str
    #: What to do; empty if there is nothing to do.
    remedy: str = ""

    @classmethod
    def ok(cls, sentence: str) -> Self:
        """Nothing has to be done."""
        return cls("ok", sentence)

    @classmethod
    def warning(cls, sentence: str, remedy: str) -> Self:
        """Captions work, but something should be done."""
        return cls("warning", sentence, remedy)

    @classmethod
    def problem(cls, sentence: str, remedy: str) -> Self:
        """Captions will not work before something is done."""
        return cls("problem", sentence, remedy)


class Checked(msgspec.Struct, frozen=True):
    """The result of one check."""

    subject: str
    findings: tuple[Finding, ...]
    #: What the findings are based on; None if it could not be found out.
    facts: Any = None
    took_s: float = 0.0

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of the findings."""
        return max((one.verdict for one in self.findings), key=_WORST.index, default="ok")


def from_error(sentence: str, *, is_problem: bool) -> Finding:
    """A finding from one of our errors, which says what to do after its last semicolon, or else colon."""
    if sentence[:1].islower() and sentence.partition(" ")[0].isalpha():
        sentence = sentence[0].upper() + sentence[1:]
    found, _, remedy = sentence.rpartition("; " if "; " in sentence else ": ")
    return Finding("problem" if is_problem else "warning", found or remedy, remedy if found else "")


def advised(advice: str) -> list[Finding]:
    """The finding about which named model to take; none without advice."""
    return [Finding.ok(f"Of `surtitle models` for these languages: {advice}")] if advice else []


_MARKS: dict[Verdict, tuple[str, str, str]] = {
    "ok": ("✓", "+", "green"),
    "warning": ("!", "!", "yellow"),
    "problem": ("✗", "x", "bold red"),
}


def works(results: Sequence[Checked]) -> bool:
    """Whether captions will work."""
    return all(one.verdict != "problem" for one in results)


def print_checked(console: Console, result: Checked) -> None:
    """Print the findings about one subject; they are wrapped where the terminal is narrow."""
    table = Table.grid(padding=(0, 1))
    table.add_column(width=1)
    table.add_column(min_width=10, no_wrap=True)
    table.add_column(ratio=1)
    for number, finding in enumerate(result.findings):
        mark = _mark(console, finding.verdict)
        table.add_row(mark, "" if number else result.subject, _told(finding))
    console.print(table)


def print_verdict(console: Console, results: Sequence[Checked], languages: Sequence[Direction]) -> None:
    """Print what follows from all findings about captions in these ``languages``."""
    problems = [one.subject for one in results if one.verdict == "problem"]
    if problems:
        console.print(Text(f"\nCaptions will not work yet: see {', '.join(problems)}.", "bold"))
        return
    can_listen = all(one.verdict == "ok" for one in results if one.subject == "microphone")
    command = "surtitle live" if can_listen else "surtitle file talk.wav"
    spoken, written = languages[0].source, ",".join(one.target.name for one in languages)
    options = f"--to {written}" if any(one.translates for one in languages) else "--captions-only"
    if spoken.name != "English":
        options += f" --from {spoken.name}"
    console.print(Text(f"\nCaptions will work. Try: {command} {options}", "bold"))


def as_json(results: Sequence[Checked]) -> bytes:
    """All findings and the facts behind them, as one JSON object."""
    checks = [{"subject": one.subject, "verdict": one.verdict, **msgspec.to_builtins(one)} for one in results]
    return msgspec.json.format(
        msgspec.json.encode({"surtitle": version("surtitle"), "works": works(results), "checks": checks})
    )


def _mark(console: Console, verdict: Verdict) -> Text:
    mark, plain, style = _MARKS[verdict]
    return Text(mark if encodable(mark, console.encoding) == mark else plain, style)


def _told(finding: Finding) -> Group | Text:
    sentence = Text(printable(f"{finding.sentence}."))
    if not finding.remedy:
        return sentence
    return Group(sentence, Text(printable(f"{finding.remedy[:1].upper()}{finding.remedy[1:]}."), "bold"))
