"""Subjects register their commands here; a new subject needs no other change."""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Annotated, Any, NamedTuple

import typer

from connectors.machine.quiet import measuring

Limit = Annotated[int | None, typer.Option(min=1, help="Number of segments, or of utterances.")]
Skip = Annotated[int, typer.Option(min=0, help="Segments or utterances to skip at the beginning.")]
Json = Annotated[Path | None, typer.Option("--json", help="Write signature and rows here.")]
Markdown = Annotated[Path | None, typer.Option(help="Write the tables here.")]


class Subject(NamedTuple):
    """A command that measures something."""

    name: str
    command: Callable[..., None]


_REGISTERED: dict[str, Subject] = {}


def subject(name: str, *, alone: bool = True) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register the decorated function as the command ``name``.

    Its module is imported at each start of surtitle: what only this command needs is imported inside it.

    Args:
        name: The command, as one types it.
        alone: Whether training in the background pauses meanwhile.

    Raises:
        ValueError: if another subject has this name.
    """

    def register(command: Callable[..., None]) -> Callable[..., None]:
        if name in _REGISTERED:
            raise ValueError(f"two subjects are called {name}")
        _REGISTERED[name] = Subject(name, measuring()(command) if alone else command)
        return command

    return register


def subjects() -> Iterator[Subject]:
    """All subjects, by name."""
    package: Any = import_module(__package__)
    for found in iter_modules(package.__path__, f"{__package__}."):
        if found.ispkg:
            import_module(f"{found.name}.command")
    yield from sorted(_REGISTERED.values())
