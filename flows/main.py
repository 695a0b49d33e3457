"""The program ``surtitle``: handles interrupts, then loads and runs the command line."""

import signal
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line; exits with the codes of `flows.cli.app.main`."""
    end_on_interrupt()
    # Imported here: it takes a while, during which Ctrl-C must not print a traceback.
    from connectors.files.streams import prepare_streams

    prepare_streams()
    from connectors.messages import begin_messages
    from flows.cli.exits import end_interrupted, wants_json
    from flows.running.loading import loading

    begin_messages("json" if wants_json(sys.argv[1:]) else "text")
    with loading():
        from flows.cli.app import main as run

    try:
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
            # From here on, there may be something to clean up.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        run()
    except KeyboardInterrupt:
        end_interrupted()
    finally:
        # Everything is done and reported: an interrupt now would only change the exit code.
        for name in {"SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK"} & {*dir(signal)}:  # Windows has the last
            signal.signal(getattr(signal, name), signal.SIG_IGN)


def end_on_interrupt() -> None:
    """Let Ctrl-C end this process silently, because nothing has begun yet; unless Ctrl-C is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
