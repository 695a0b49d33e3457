"""Runs a command line, and turns whatever ends it into a message and an exit code."""

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from connectors.files.streams import is_of_output
from connectors.messages import begin_messages, tell
from flows.cli.exits import end_interrupted, end_unwritten, fail, wants_json
from flows.cli.refusals import BAD_COMMAND_LINE, Commands, check_text, refusal
from operators.errors import (
    INTERNAL_EXIT_CODE,
    INTERRUPTED_EXIT_CODE,
    OutputError,
    SurtitleError,
    is_visible_file,
)

_INSTALL = "--install-completion"


@contextmanager
def completion_errors(arguments: Sequence[str]) -> Iterator[None]:
    """Turn a start file of the shell that Typer cannot read or write into an error that names the other way.

    Raises:
        OutputError: when ``--install-completion`` fails.
    """
    try:
        yield
    except (OSError, UnicodeError) as error:
        if _INSTALL not in arguments:
            raise
        named = getattr(error, "filename", None)
        where = os.fsdecode(named) if named else "a start file of your shell"
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise OutputError(
            f"{where}: the completion cannot be installed ({why}); "
            "print it with --show-completion, and add it to your shell's start file yourself"
        ) from None


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"surtitle {version('surtitle')}")
        raise typer.Exit


def about(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Live speech translation whose captions hardly flicker."""


def program() -> typer.Typer:
    """The program without any command."""
    app = typer.Typer(
        name="surtitle",
        cls=Commands,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback()(about)
    return app


def run(app: typer.Typer) -> NoReturn:
    """Run the command line of this process.

    Exit codes: those of our errors, such as usage (2), input (3) and output (4), and internal errors (70).
    """
    begin_messages("json" if wants_json(sys.argv[1:]) else "text")
    code = 0
    try:
        _check_arguments(sys.argv[1:])
        with completion_errors(sys.argv[1:]):
            code = app(prog_name=app.info.name, standalone_mode=False)
    except SurtitleError as error:
        fail(error)
    except BAD_COMMAND_LINE as error:
        fail(refusal(error, typer.main.get_command(app), sys.argv[1:]))
    except Exception as error:  # noqa: BLE001 - the last resort: any other exception is our bug
        if isinstance(error, OSError) and is_of_output(error):
            end_unwritten(error)
        sentence = "this is a defect in surtitle; please report it with the lines above"
        tell("internal_error", sentence, level=logging.CRITICAL, error=error, exit_code=INTERNAL_EXIT_CODE)
        sys.exit(INTERNAL_EXIT_CODE)
    if code == INTERRUPTED_EXIT_CODE:
        end_interrupted()
    try:
        sys.stdout.flush()
    except OSError as error:
        end_unwritten(error)
    sys.exit(code or 0)


def _check_arguments(arguments: Sequence[str]) -> None:
    """Refuse arguments that are not text, but for recordings of which the others can be subtitled."""
    for argument in arguments:
        if arguments[0] != "subtitle" or not is_visible_file(Path(argument)):
            check_text(argument)
