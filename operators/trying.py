"""Runs a function in a separate process, because some libraries exit or crash on an invalid file."""

import os
import re
import subprocess
import sys

from operators.text import cleaned


class FailedTrialError(Exception):
    """The trial has failed; the message is the last line that the process printed."""


def tried(function: str, *arguments: object) -> int:
    """The number that ``package.module:function`` prints in another process, given the arguments.

    Raises `FailedTrialError` if it prints none.
    """
    module, _, name = function.partition(":")
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"from {module} import {name}; {name}()", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        check=False,
    )
    try:
        return int(done.stdout)
    except ValueError:
        said = cleaned(done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2])
        # Remove the place in the library's source, or the name of the exception.
        said = re.sub(r"^\S+:\d+ |^\w*Error: ", "", said)[:200]
        raise FailedTrialError(said or "it ends the program") from None
