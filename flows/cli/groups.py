"""Groups of commands that say what to do: with no command at all, or with one that does not exist."""

from typing import Any

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from typer.core import TyperGroup
from typing_extensions import override

from flows.cli.refusals import check_repeated, no_such_command

_TRY = (
    ("a recording", "surtitle file talk.wav --to German"),
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
            else:
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
            check_repeated(command, typer.Context(command, info_name=name, parent=ctx), rest)
        return name, command, rest
