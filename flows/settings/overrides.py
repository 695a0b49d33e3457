"""Settings that a command line gives: they override those of a file."""

import tomllib
from collections.abc import Iterable
from typing import Any

from operators.errors import UsageError

#: Settings by stage and key.
Overrides = dict[str, dict[str, Any]]
#: The error if neither the command line nor a settings file names a language of captions.
UNNAMED = (
    "no language of captions is named; give --to, such as --to Portuguese, or `to` under [translate] in the "
    "settings"
)


def assigned(texts: Iterable[str]) -> Overrides:
    """The settings in texts such as ``translate.beam=2``.

    A value that is not valid TOML is a string, so names need no quotes. Repeated lists are concatenated.
    Raises `UsageError` for a text without key or value.
    """
    overrides: Overrides = {}
    for text in texts:
        key, equals, typed = text.partition("=")
        try:
            table: Any = tomllib.loads(f"{key}={equals and 0}")
        except tomllib.TOMLDecodeError:
            table = {}
        if not any(isinstance(one, dict) for one in table.values()):
            raise UsageError(f"--set {text}: give a setting and its value, as in translate.beam=2")
        try:
            value = tomllib.loads(f"value = {typed}")["value"]
        except tomllib.TOMLDecodeError:
            value = typed
        into: Any = overrides
        while isinstance(next(iter(table.values())), dict):
            ((name, table),) = table.items()
            into = into.setdefault(name, {})
        (name,) = table
        before = into.get(name)
        into[name] = [*before, *value] if isinstance(before, list) and isinstance(value, list) else value
    return overrides
