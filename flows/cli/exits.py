"""The end of the program on a user's error and on Ctrl-C: one sentence and an exit code."""

import logging
import os
import sys
from pathlib import Path
from typing import NoReturn

from connectors.files.output import WriteError
from connectors.files.streams import forget_output
from connectors.messages import log_event
from flows.running.loading import report_interrupted
from operators.errors import INTERRUPTED_EXIT_CODE, ClusterError, SurtitleError

# When nobody reads the output any more, as after ``surtitle report … | head -1``.
_UNREAD_EXIT_CODE = 1


def fail(error: SurtitleError) -> NoReturn:
    forget_output()
    log_event(error.event, str(error), level=logging.ERROR, exit_code=error.exit_code)
    if isinstance(error, ClusterError):
        # Threads of Bytewax that panicked abort a process that ends in the usual way.
        sys.stderr.flush()
        os._exit(error.exit_code)
    sys.exit(error.exit_code)


def wants_json(arguments: list[str]) -> bool:
    """Whether messages should be JSON; the rest of the command line may be invalid."""
    typed = " ".join(arguments).replace("=", " ")
    return "messages.format json" in typed or "--log-format json" in typed


def end_unwritten(error: OSError) -> NoReturn:
    """End the program because standard output cannot be written; a closed pipe needs no sentence."""
    if isinstance(error, BrokenPipeError):
        forget_output()
        sys.exit(_UNREAD_EXIT_CODE)
    fail(WriteError(Path("standard output"), error))


def end_interrupted() -> NoReturn:
    """End the program after a Ctrl-C before captions began, or before a command was finished."""
    forget_output()
    report_interrupted()
    sys.exit(INTERRUPTED_EXIT_CODE)
