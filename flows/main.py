"""The program ``surtitle``: makes sure that llama.cpp runs on this processor, then runs the command line."""

import signal
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line; exit codes as `flows.cli.app.main` has them, 3 if llama.cpp cannot run."""
    end_on_interrupt()
    # Imported here: it takes a second, in which Ctrl-C must not show where the program was.
    from connectors.messages.log import begin_messages
    from flows.cli.exits import fail, wants_json
    from operators.errors import SurtitleError

    begin_messages("json" if wants_json(sys.argv[1:]) else "text")
    try:
        import flows.processor  # noqa: F401 - before the command line
    except SurtitleError as error:
        fail(error)
    from flows.cli.app import main as run

    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        # From here on something may have been begun that has to be ended.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run()
    finally:
        # All is done and told: what comes now would only take the exit code away.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)


def end_on_interrupt() -> None:
    """Let Ctrl-C end this process without a word, as nothing was begun yet; unless it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
