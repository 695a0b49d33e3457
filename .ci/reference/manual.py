"""The manual page surtitle(1), in the man macros of roff. The wheel brings it along."""

import re
from collections.abc import Iterator
from importlib.metadata import version

from typer.main import get_command

from flows.cli.app import app
from reference.command_line import OTHER_EXITS, Command, commands_of, exit_codes

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


def manual_page() -> str:
    """The page."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    program = get_command(app)
    yield f'.TH SURTITLE 1 "" "surtitle {version("surtitle")}" "User Commands"'
    yield from (".SH NAME", rf"surtitle \- {_escaped(_summary(program))}")
    yield from (".SH SYNOPSIS", ".B surtitle", r"\fICOMMAND\fR [\fIOPTIONS\fR] [\fIARGUMENTS\fR]")
    yield from (".SH DESCRIPTION", _escaped("surtitle turns live speech into translated captions."))
    yield from (".PP", _escaped("Languages are given by their English names or ISO 639-1 codes."))
    yield ".SH OPTIONS"
    yield from _parameters(program)
    yield ".SH COMMANDS"
    for name, command in commands_of(program, "surtitle"):
        yield from _command(name, command)
    yield from _list("EXIT STATUS", {str(code): meaning for code, meaning in exit_codes()})
    yield from (".PP", _escaped(OTHER_EXITS))
    yield from _list("ENVIRONMENT", _ENVIRONMENT)
    yield ".SH EXAMPLES"
    for what, line in _EXAMPLES.items():
        yield from (".PP", _escaped(what), ".PP", ".RS", rf"\fB{_escaped(line)}\fR", ".RE")


def _command(name: str, command: Command) -> Iterator[str]:
    context = command.make_context(name, [], resilient_parsing=True)
    yield f'.SS "{_escaped(" ".join([name, *command.collect_usage_pieces(context)]))}"'
    for number, paragraph in enumerate((command.help or "").split("\n\n")):
        yield from [".PP"] * (number > 0)
        yield _escaped(" ".join(paragraph.split()))
    yield from _parameters(command)


def _parameters(command: Command) -> Iterator[str]:
    context = command.make_context(command.name, [], resilient_parsing=True)
    for parameter in command.params:
        if record := parameter.get_help_record(context):
            names, text = record
            # Typer puts a default that words describe in parentheses.
            text = re.sub(r"\[default: \((.+)\)", r"[default: \1", " ".join(text.split()))
            yield from (".TP", rf"\fB{_escaped(names)}\fR", _escaped(text))


def _list(title: str, entries: dict[str, str]) -> Iterator[str]:
    yield f'.SH "{title}"'
    for name, text in entries.items():
        yield from (".TP", rf"\fB{_escaped(name)}\fR", _escaped(text))


def _summary(program: Command) -> str:
    text = (program.help or "").strip().rstrip(".")
    return text[:1].lower() + text[1:]


def _escaped(text: str) -> str:
    """The text without marks of code, and without what roff would take for requests, escapes or dashes."""
    text = text.replace("`", "")
    text = text.replace("\\", r"\e").replace("-", r"\-").replace('"', r"\(dq")
    return rf"\&{text}" if text.startswith((".", "'")) else text
