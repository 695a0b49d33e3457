"""Shell completion: Typer installs it, and surtitle reports what prevents that."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from operators.errors import OutputError

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
