"""Runs a command line, and turns whatever ends it into a message and an exit code."""

import logging
import sys
from collections.abc import Sequence
from typing import NoReturn

import typer

from connectors.files.streams import is_of_output
from connectors.messages.log import begin_messages, tell
from flows.cli.completion import completion_errors
from flows.cli.exits import end_interrupted, end_unwritten, fail, wants_json
from flows.cli.groups import Commands
from flows.cli.refusals import BAD_COMMAND_LINE, refusal
from flows.cli.version import about
from operators.errors import INTERNAL_EXIT_CODE, INTERRUPTED_EXIT_CODE, SurtitleError, UsageError


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
    """Refuse arguments with lone surrogates: they are not text, and can be neither printed nor written."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise UsageError(f"{argument} is not UTF-8; give the file another name") from None
