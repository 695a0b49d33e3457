"""Imports the modules of a command when it runs, so that other commands, help and completion start fast."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from connectors.messages import log_event
from operators.errors import INTERRUPTED_EXIT_CODE


@contextmanager
def loading() -> Iterator[None]:
    """Let Ctrl-C end the process at once, unless it is ignored: an exception would break off an import.

    For imports at the beginning of a command, when there is nothing to clean up. For the main thread only.
    """
    before = signal.getsignal(signal.SIGINT)
    if before in (signal.SIG_DFL, signal.default_int_handler):
        signal.signal(signal.SIGINT, _end_at_once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def report_interrupted() -> None:
    log_event("interrupted", "interrupted before it was finished", exit_code=INTERRUPTED_EXIT_CODE)


def _end_at_once(_number: int, _frame: object) -> None:
    # An interrupted print cannot be re-entered.
    with suppress(RuntimeError):
        report_interrupted()
    os._exit(INTERRUPTED_EXIT_CODE)
