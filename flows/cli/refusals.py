"""Command lines that Typer refuses, and groups without a command: one sentence that ends with what to do."""

import shlex
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup
from typing_extensions import override

from flows.cli.renamed import COMMANDS, in_new_form
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
_TAKES = {"file": "sound", "subtitle": "sound", "replay": "events (JSONL)", "job": "settings (TOML)"}


def refusal(error: Any, root: Any, arguments: Sequence[str]) -> UsageError:
    """The error of ours for one of Typer's.

    Args:
        error: A `BAD_COMMAND_LINE`.
        root: The command line's outermost command.
        arguments: The command line, without the program's name.
    """
    program, _, command = (error.ctx or _context(root, arguments)).command_path.partition(" ")
    # "Missing argument 'EVENTS'.", "Invalid value for '--port': …", "No such option: --lagn Did you mean …"
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
    if given in COMMANDS:
        return UsageError(f"{given} is now `{group} {COMMANDS[given]}`, which varies settings by --vary")
    fitting = _SUFFIXES.get(PurePath(given).suffix.lower())
    meant = f"{fitting} {shlex.quote(given)}" if fitting in commands else nearest(given, commands)
    if meant is None:
        return UsageError(f"there is no command {given}; `{group} --help` lists those that exist")
    return UsageError(f"there is no command {given}; did you mean: {group} {meant}")


def check_text(argument: str) -> None:
    """Raise `UsageError` for one with lone surrogates: it can be neither printed nor written."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{argument} is not UTF-8; give the file another name") from None


def check_command(file: PurePath, command: str) -> None:
    """Raise `UsageError` for a file that by its suffix belongs to another of the commands for files."""
    fitting = _SUFFIXES.get(file.suffix.lower(), command)
    if _TAKES[fitting] != _TAKES[command]:
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


_TRY = (
    ("a recording", "surtitle file talk.wav --to German"),
    ("a video", "surtitle subtitle talk.mp4 --to German writes subtitles"),
    ("a microphone", "surtitle live --to German"),
    ("in a browser", "surtitle live --to German --web"),
    ("this machine", "surtitle doctor checks microphone, model and speed"),
    ("more", "surtitle --help lists all commands"),
)


def welcome(console: Console) -> None:
    """Print what to try first, wrapped where the terminal is narrow."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    for what, command in _TRY:
        table.add_row(what, Text(command, "bold"))
    console.print("surtitle translates live speech into captions that hardly flicker. Try it:\n")
    console.print(Padding(table, (0, 2)))


class Commands(TyperGroup):
    """A group of commands; the outermost one introduces the program when no command is given."""

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # Completion and the manual only ask for the options.
        if not args and not ctx.resilient_parsing:
            if ctx.parent is None:
                welcome(Console(highlight=False))
                ctx.exit()
            if not self.invoke_without_command:
                typer.echo(ctx.get_help())
                ctx.exit()
        return super().parse_args(ctx, args)

    @override
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        is_mistyped = args[0] not in self.commands and not args[0].startswith("-")
        if is_mistyped and not ctx.resilient_parsing:
            raise no_such_command(args, ctx.command_path, list(self.commands))
        name, command, rest = super().resolve_command(ctx, args)
        if command and not ctx.resilient_parsing and not isinstance(command, Commands):
            known = {flag for param in command.params for flag in (*param.opts, *param.secondary_opts)}
            if "--set" in known:
                rest = in_new_form(rest, known)
            check_repeated(command, typer.Context(command, info_name=name, parent=ctx), rest)
        return name, command, rest
