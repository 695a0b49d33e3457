"""``surtitle --version``, which is there before any command."""

from importlib.metadata import version
from typing import Annotated

import typer


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"surtitle {version('surtitle')}")
        raise typer.Exit


def program(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Live speech translation whose captions hardly flicker."""
