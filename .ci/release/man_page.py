"""The manual page surtitle(1), made from the command line: ``python -m release.man_page docs/surtitle.1``.

It is kept in the repository, because a wheel is built where the packages that the command line imports are
not installed. A test compares it with the command line.
"""

import re
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

import typer
from typer.core import TyperGroup

from flows.cli.app import app

# Typer's types of commands and of their contexts have no public names.
Command: TypeAlias = Any
Context: TypeAlias = Any
#: Exit codes, as the README and the modules of the command line define them.
_EXIT_STATUS = {
    0: "Success.",
    2: "The command line or the settings ask for something impossible.",
    3: "An input, a model or an event is not valid.",
    4: "A result cannot be written.",
    70: "A defect in surtitle itself.",
    75: "Another process of the cluster was lost.",
    130: "Ctrl-C interrupted a benchmark, or was pressed a second time.",
}
_ENVIRONMENT = {
    "SURTITLE_WEB_TOKEN": "Access token of the web pages and of rooms.",
    "AZURE_SPEECH_KEY, AZURE_SPEECH_REGION": "Key and region for --recognizer azure.",
    "XDG_CACHE_HOME": "Folder whose surtitle/ keeps models and measurements; by default ~/.cache.",
    "LLAMA_CPP_LIB_PATH": "Folder of another build of llama.cpp's library.",
}
_EXAMPLES = {
    "Caption a microphone in German, in the terminal and in browsers:": "surtitle live --to German --web",
    "Write subtitles of a recording:": "surtitle file talk.wav --to French --srt talk.srt",
    "Read the options of a command:": "surtitle file --help",
}


def man_page() -> str:
    """The page, in the man macros of roff."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    program: Command = typer.main.get_command(app)
    context = program.make_context("surtitle", [], resilient_parsing=True)
    yield f'.TH SURTITLE 1 "" "surtitle {version("surtitle")}" "User Commands"'
    yield from _section("NAME", rf"surtitle \- {_escaped(_summary(program))}")
    yield ".SH SYNOPSIS"
    yield from (r".B surtitle", r"\fICOMMAND\fR [\fIOPTIONS\fR] [\fIARGUMENTS\fR]")
    yield from _section("DESCRIPTION", _escaped("surtitle turns live speech into translated captions."))
    yield from (".PP", _escaped("Languages are given by their English names or ISO 639-1 codes."))
    yield ".SH OPTIONS"
    yield from _parameters(program, context)
    yield ".SH COMMANDS"
    yield from _commands(program, context)
    yield from _list("EXIT STATUS", {str(code): what for code, what in _EXIT_STATUS.items()})
    yield from _list("ENVIRONMENT", _ENVIRONMENT)
    yield ".SH EXAMPLES"
    for what, command in _EXAMPLES.items():
        yield from (".PP", _escaped(what), ".PP", ".RS", rf"\fB{_escaped(command)}\fR", ".RE")


def _commands(group: Command, context: Context) -> Iterator[str]:
    for name, command in group.commands.items():
        inner = command.make_context(name, [], parent=context, resilient_parsing=True)
        if isinstance(command, TyperGroup):
            yield from _commands(command, inner)
            continue
        pieces = " ".join(command.collect_usage_pieces(inner))
        yield f'.SS "{_escaped(inner.command_path)} {_escaped(pieces)}"'
        for number, paragraph in enumerate((command.help or "").split("\n\n")):
            yield from [".PP"] * (number > 0)
            yield _escaped(" ".join(paragraph.split()))
        yield from _parameters(command, inner)


def _parameters(command: Command, context: Context) -> Iterator[str]:
    for parameter in command.params:
        if record := parameter.get_help_record(context):
            names, text = record
            # Typer puts a default that words describe in parentheses.
            text = re.sub(r"\[default: \((.+)\)", r"[default: \1", " ".join(text.split()))
            yield from (".TP", rf"\fB{_escaped(names)}\fR", _escaped(text))


def _section(title: str, text: str) -> Iterator[str]:
    yield from (f".SH {title}", text)


def _list(title: str, entries: dict[str, str]) -> Iterator[str]:
    yield f'.SH "{title}"'
    for name, text in entries.items():
        yield from (".TP", rf"\fB{_escaped(name)}\fR", _escaped(text))


def _summary(program: Command) -> str:
    text = (program.help or "").strip().rstrip(".")
    return text[:1].lower() + text[1:]


def _escaped(text: str) -> str:
    """The text without what roff would take for requests, escapes or typographic dashes."""
    text = text.replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq")
    return rf"\&{text}" if text.startswith((".", "'")) else text


def main() -> None:
    """Write the page to the file that is named."""
    Path(sys.argv[1]).write_text(man_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
