"""What Typer refuses of a command line, as one sentence that ends with what to do."""

import shlex
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

import typer

from operators.errors import UsageError, nearest

#: The exception that Typer raises for an invalid command line; it has no public name.
BAD_COMMAND_LINE: Any = typer.BadParameter.__bases__[0]

# The command that takes files with these suffixes.
_SUFFIXES = {
    **dict.fromkeys(
        (".wav", ".flac", ".mp3", ".m4a", ".ogg", ".opus", ".aac", ".mp4", ".mkv", ".webm"), "file"
    ),
    **dict.fromkeys((".jsonl", ".ndjson"), "replay"),
    ".toml": "job",
}
_TAKES = {"file": "sound", "replay": "events (JSONL)", "job": "settings (TOML)"}


def refusal(error: Any, root: Any, arguments: Sequence[str]) -> UsageError:
    """The error of ours for one of Typer's.

    Args:
        error: A `BAD_COMMAND_LINE`.
        root: The command line's outermost command.
        arguments: The command line, without the program's name.
    """
    program, _, command = (error.ctx or _context(root, arguments)).command_path.partition(" ")
    # "Missing argument 'EVENTS'.", "Invalid value for '--bias': …", "No such option: --lagn Did you mean …"
    what = " ".join(error.format_message().split()).rstrip(".?")
    what = what[:1].lower() + what[1:]
    if not command:
        return UsageError(f"{what}; `{program} --help` lists the commands, which come before their options")
    return UsageError(f"{command}: {what}; `{program} {command} --help` shows what it takes")


def no_such_command(typed: Sequence[str], group: str, commands: Sequence[str]) -> UsageError:
    """The error about a command that does not exist.

    Args:
        typed: What was typed in its place and after it.
        group: What was typed before it: ``surtitle``, or ``surtitle model``.
        commands: The commands that exist there.
    """
    given = typed[0]
    fitting = _SUFFIXES.get(PurePath(given).suffix.lower())
    meant = f"{fitting} {shlex.quote(given)}" if fitting in commands else nearest(given, commands)
    if meant is None:
        return UsageError(f"there is no command {given}; `{group} --help` lists those that exist")
    return UsageError(f"there is no command {given}; did you mean: {group} {meant}")


def check_command(file: PurePath, command: str) -> None:
    """Raise `UsageError` for a file that by its suffix belongs to another of the commands for files."""
    fitting = _SUFFIXES.get(file.suffix.lower(), command)
    if fitting != command:
        raise UsageError(
            f"{file}: `surtitle {command}` takes {_TAKES[command]}; did you mean: "
            f"surtitle {fitting} {shlex.quote(str(file))}"
        )


def check_repeated(command: Any, context: Any, arguments: Sequence[str]) -> None:
    """Raise `UsageError` for an option that takes one text and is given several: Typer takes the last one.

    Several languages or files may all be wanted. A number that is given again overrides the first one.
    """
    _, _, given = command.make_parser(context).parse_args(list(arguments))
    for param in set(given):
        is_single = param.param_type_name == "option" and not (param.multiple or param.is_flag or param.count)
        if is_single and _kind(param) not in (int, float) and given.count(param) > 1:
            raise UsageError(
                f"{param.opts[0]} is given {given.count(param)} times; give it once, and where it takes "
                "several values, with commas between them"
            )


def _context(root: Any, arguments: Sequence[str]) -> Any:
    """The context of the command that the arguments name: Typer leaves it out of some of its errors."""
    context = typer.Context(root, info_name=root.name)
    for word in arguments:
        command = getattr(context.command, "commands", {}).get(word)
        if command is None:
            break
        context = typer.Context(command, info_name=word, parent=context)
    return context


def _kind(param: Any) -> Any:
    return getattr(getattr(param, "type_descriptor", None), "annotation", None)
