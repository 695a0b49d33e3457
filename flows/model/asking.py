"""Commands whose arguments and options are the fields of a job struct."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, get_type_hints

import msgspec

J = TypeVar("J", bound=msgspec.Struct)


def asks_for(job: type[J]) -> Callable[[Callable[[J], None]], Callable[..., None]]:
    """Turn the fields of a command's ``job`` into arguments and options.

    A field is ``Annotated`` with its typer parameter; a field without a default is required.
    """
    hints = get_type_hints(job, include_extras=True)
    parameters = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.required else field.default,
            annotation=hints[field.name],
        )
        for field in msgspec.structs.fields(job)
    ]

    def decorate(command: Callable[[J], None]) -> Callable[..., None]:
        @wraps(command)
        def called(**values: Any) -> None:
            command(job(**values))

        # Typer reads these two attributes, and passes all arguments by name.
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in parameters}
        return called

    return decorate
