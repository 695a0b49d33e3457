"""How the program ends on an error that the user can fix: one sentence and an exit code."""

import logging
import os
import sys
from itertools import pairwise
from typing import NoReturn

from connectors.messages.log import tell
from operators.errors import ClusterError, SurtitleError


def fail(error: SurtitleError) -> NoReturn:
    """Print the error, and exit with its code."""
    _forget_output()
    tell(error.event, str(error), level=logging.ERROR, exit_code=error.exit_code)
    if isinstance(error, ClusterError):
        # Threads of Bytewax that panicked abort a process that ends in the usual way.
        sys.stderr.flush()
        os._exit(error.exit_code)
    sys.exit(error.exit_code)


def wants_json(arguments: list[str]) -> bool:
    """Whether the command line, which may be invalid otherwise, asks for messages in JSON."""
    given = [one.partition("=")[2] for one in arguments if one.startswith("--log-format=")]
    given += [value for name, value in pairwise(arguments) if name == "--log-format"]
    return given == ["json"]


def _forget_output() -> None:
    """Prevent a second error when Python flushes into a pipe that nobody reads."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
