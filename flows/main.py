"""The program ``surtitle``: makes sure that llama.cpp runs on this processor, then runs the command line."""

import sys
from typing import NoReturn

from connectors.messages import begin_messages
from flows.exits import fail, wants_json
from operators.errors import SurtitleError


def main() -> NoReturn:
    """Run the command line; exit codes are those of `flows.cli.main`, 3 where llama.cpp does not run here."""
    begin_messages("json" if wants_json(sys.argv[1:]) else "text")
    try:
        import flows.processor  # noqa: F401 - before the command line
    except SurtitleError as error:
        fail(error)
    from flows.cli import main as run

    run()
