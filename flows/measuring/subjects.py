"""Benchmarks as parts: a command each, in the module ``command`` of its package."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from operators.parts import Parts

Limit = Annotated[int | None, typer.Option(min=1, help="Number of segments, or of utterances.")]
Skip = Annotated[int, typer.Option(min=0, help="Segments or utterances to skip at the beginning.")]
Json = Annotated[Path | None, typer.Option("--json", help="Write signature and rows here.")]
Markdown = Annotated[Path | None, typer.Option(help="Write the tables here.")]


class Subject(NamedTuple):
    """A command that measures something."""

    name: str
    command: Callable[..., None]


def subject(name: str) -> Callable[[Callable[..., None]], Subject]:
    """Make the decorated function the command ``name``.

    Its module is imported at each start of surtitle: what only this command needs is imported inside it.
    """
    return lambda command: Subject(name, command)


SUBJECTS = Parts(
    Subject, what="a benchmark", package="flows.measuring", inside="command", group="surtitle.benchmarks"
)
