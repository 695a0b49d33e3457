"""The page of the command line: every command, argument and option."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from typer.main import get_command

from flows.cli.app import app
from operators import errors
from reference.markdown import code, page, prose, table

_INTRODUCTION = """\
`surtitle COMMAND --help` prints the same. `--set` overrides any key of
the [settings file](settings.md), which lists them."""

_ERRORS = (
    errors.UsageError, errors.InputError, errors.OutputError, errors.InternalError, errors.ClusterError,
    errors.InterruptedRunError,
)  # fmt: skip

OTHER_EXITS = """\
Ctrl-C before captions begin, or before another command is finished, also exits with 130; so does a second
Ctrl-C. If nobody reads standard output any more, captions end with 4, and other commands with 1. The exit
code is also 1 if `surtitle doctor` finds that captions will not work. Any other defect in surtitle exits with
70."""

# Typer's own copy of click has no public name for commands, groups and parameters.
Command = Any
Parameter = Any


def command_line_page() -> str:
    """The page."""
    commands = list(commands_of(get_command(app), "surtitle"))
    index = [(f"[{name}](#{_anchor(name)})", _first_sentence(command)) for name, command in commands]
    parts = [part for name, command in commands for part in _command(name, command)]
    codes = [(code(str(number)), prose(meaning)) for number, meaning in exit_codes()]
    return page(
        "Command line",
        _INTRODUCTION,
        table(("command", "what it does"), index),
        *parts,
        "## Exit codes",
        prose(OTHER_EXITS),
        table(("code", "meaning"), codes),
    )


def commands_of(group: Command, name: str) -> Iterator[tuple[str, Command]]:
    """The commands of a group and of the groups in it, with the words that call them."""
    for word, command in group.commands.items():
        if getattr(command, "invoke_without_command", True):
            yield f"{name} {word}", command
        if hasattr(command, "commands"):
            yield from commands_of(command, f"{name} {word}")


def exit_codes() -> Iterator[tuple[int, str]]:
    """The exit codes, and what each means."""
    yield 0, "Success."
    for kind in _ERRORS:
        yield kind.exit_code, (kind.__doc__ or "").partition("\n\n")[0]


def _anchor(name: str) -> str:
    return name.replace(" ", "-")


def _first_sentence(command: Command) -> str:
    return prose(inspect.cleandoc(command.help or "").partition("\n\n")[0])


def _command(name: str, command: Command) -> Iterator[str]:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    yield f"## {name}"
    yield prose(inspect.cleandoc(command.help or ""))
    yield f"```text\n{' '.join([name, *map(_placeholder, arguments), '[OPTIONS]'])}\n```"
    yield table(
        ("argument", "meaning"),
        [(code(_placeholder(one)), prose(one.help or "")) for one in arguments],
    )
    yield table(
        ("option", "meaning", "value", "default"),
        [(_flags(one), prose(one.help or ""), _value(one), _default(one)) for one in options],
    )


def _placeholder(argument: Parameter) -> str:
    name = (argument.metavar or argument.name).upper() + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _flags(option: Parameter) -> str:
    return ", ".join(code(flag) for flag in (*option.opts, *option.secondary_opts))


_VALUES: dict[object, str] = {str: "text", int: "integer", float: "number", Path: "path"}


def _value(option: Parameter) -> str:
    if option.is_flag:
        return ""
    kind = option.type_descriptor.annotation
    if get_origin(kind) is Literal:
        return ", ".join(get_args(kind))
    bounds = {"≥": option.min, "≤": option.max}
    limits = ", ".join(f"{sign} {bound}" for sign, bound in bounds.items() if bound is not None)
    (item,) = get_args(kind) or (kind,)
    return f"{_VALUES[item]} {limits}".rstrip() + (", repeatable" if item is not kind else "")


def _default(option: Parameter) -> str:
    if isinstance(option.show_default, str):
        return prose(option.show_default)
    if not option.show_default or option.is_flag or option.default is None or option.required:
        return "required" if option.required else ""
    default: object = option.default
    return ", ".join(map(str, default)) if isinstance(default, (tuple, list)) else str(default)
