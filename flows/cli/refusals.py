"""What Typer refuses of a command line, in surtitle's words: one sentence that ends with what to do."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import typer

from flows.cli.mistakes import Command, no_such_option, too_much
from operators.errors import UsageError

#: The exception that Typer raises for an invalid command line; it has no public name.
BAD_COMMAND_LINE: Any = typer.BadParameter.__bases__[0]

_NUMBERS = {int: "a whole number", float: "a number"}
_EXTRA = re.compile(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", re.DOTALL)


def refusal(error: Any, root: Any, arguments: Sequence[str]) -> UsageError:
    """The error of ours for one of Typer's.

    Args:
        error: A `BAD_COMMAND_LINE`.
        root: The command line's outermost command.
        arguments: The command line, without the program's name.
    """
    context = error.ctx or _context(root, arguments)
    path = context.command_path
    match type(error).__name__:
        case "NoSuchOption":
            given = _as_typed(error.option_name, arguments)
            here = _described(context.command, path)
            return UsageError(_unknown_option(given, here, list(_commands(root, root.name)), root.name))
        case "BadOptionUsage" if "not take" in error.message:
            return UsageError(f"{error.option_name} is a switch; leave out the value after it")
        case "BadOptionUsage":
            return UsageError(
                f"{error.option_name} needs a value after it; `{path} --help` says which it takes"
            )
        case "MissingParameter":
            return UsageError(_missing(error.param, path))
        case "BadParameter" if error.param is not None:
            return UsageError(_bad_value(error, path, arguments))
    if extra := _EXTRA.fullmatch(error.message):
        return UsageError(too_much(extra[1], _described(context.command, path)))
    return UsageError(f"{error.format_message().rstrip('.')}; see `{path} --help`")


def check_repeated(command: Any, context: Any, arguments: Sequence[str]) -> None:
    """Raise `UsageError` for an option that takes one text and is given several: Typer takes the last one.

    Several languages or files may all be wanted. A number that is given again overrides the first one.
    """
    _, _, given = command.make_parser(context).parse_args(list(arguments))
    for param in set(given):
        is_single = param.param_type_name == "option" and not (param.multiple or param.is_flag or param.count)
        if is_single and _kind(param) not in _NUMBERS and given.count(param) > 1:
            values = _values_of([*param.opts, *param.secondary_opts], arguments)
            raise UsageError(
                f"{param.opts[0]} is given {len(values)} times ({', '.join(values)}); give it once, and "
                "where it takes several values, with commas between them"
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


def _as_typed(name: str, arguments: Sequence[str]) -> str:
    """The whole word of an unknown option: of ``-to``, Typer names ``-t`` only."""
    if len(name) != 2:
        return name
    return next((one for one in arguments if one.startswith(name) and one[2:].isalpha()), name)


def _unknown_option(given: str, here: Command, commands: list[Command], program: str) -> str:
    if here.path == program:
        name = f"--{given.strip('-')}"
        having = next((one.path for one in commands if name in one.options and one.path != program), None)
        if having is not None:
            return f"{name} belongs after a command; write for example: {having} {name} …"
    return no_such_option(given, here, commands)


def _missing(param: Any, path: str) -> str:
    if param.param_type_name == "option":
        return f"{path} needs {param.opts[0]}: {_lowered(param.help)}; `{path} --help` shows an overview"
    name = _shown(param)
    return f"{path} needs {name}: {_lowered(param.help)}; write: {path} {name}"


def _bad_value(error: Any, path: str, arguments: Sequence[str]) -> str:
    name = error.param.opts[0] if error.param.param_type_name == "option" else _shown(error.param)
    kind = _kind(error.param)
    if kind in _NUMBERS and "parse" in error.message:
        given = _values_of(error.param.opts, arguments)
        return f"{name} takes {_NUMBERS[kind]}{f', not {given[-1]!r}' if given else ''}"
    wanted = error.message.rstrip(".").replace("Input should be", "give a value")
    return f"{name}: {_lowered(wanted)}; `{path} --help` shows what is allowed"


def _kind(param: Any) -> Any:
    return getattr(getattr(param, "type_descriptor", None), "annotation", None)


def _values_of(names: Sequence[str], arguments: Sequence[str]) -> list[str]:
    """The values that were given to an option with these names."""
    found: list[str] = []
    for number, one in enumerate(arguments):
        name, equals, value = one.partition("=")
        if name in names:
            found += [value] if equals else arguments[number + 1 : number + 2]
    return found


def _commands(command: Any, path: str) -> Iterator[Command]:
    yield _described(command, path)
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, f"{path} {name}")


def _described(command: Any, path: str) -> Command:
    options = {
        name
        for param in command.params
        if param.param_type_name == "option"
        for name in (*param.opts, *param.secondary_opts)
    }
    arguments = [_shown(param) for param in command.params if param.param_type_name == "argument"]
    return Command(path, frozenset({*options, "--help"}), tuple(arguments))


def _shown(param: Any) -> str:
    return str(param.metavar or param.name).rstrip(".").upper()


def _lowered(text: str | None) -> str:
    """A sentence as part of another one."""
    text = (text or "").rstrip(".")
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
