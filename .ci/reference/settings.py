"""The page of the settings file: every table and key."""

import inspect
from collections.abc import Iterator

import msgspec

from flows.settings import options
from flows.settings.schema import Settings
from reference.fields import Field, fields_of
from reference.markdown import code, page, prose, table

_INTRODUCTION = """\
A settings file is TOML. `surtitle job` runs what it describes, and the other commands that caption take one
with `--settings`. Every key may be left out. An option of the [command line](command-line.md) overrides the
key that names it. Unknown keys and values outside their range are refused, with the file, the key and what is
valid."""


def settings_page() -> str:
    """The page."""
    tables = [part for name, struct in tables_of(Settings) for part in _table(name, struct)]
    return page("Settings", _INTRODUCTION, *tables)


def tables_of(struct: type[msgspec.Struct], prefix: str = "") -> Iterator[tuple[str, type[msgspec.Struct]]]:
    """The tables inside a table, with their names in a file."""
    for field in fields_of(struct):
        if field.struct is not None:
            yield prefix + field.name, field.struct
            yield from tables_of(field.struct, f"{prefix}{field.name}.")


def option_of(table_name: str, key: str) -> str:
    """The option of the command line that overrides a key; empty if there is none."""
    for group in vars(options).values():
        if not isinstance(group, dict):
            continue
        for name, option in group.items():
            if isinstance(option, options.Option) and (option.stage, option.key) == (table_name, key):
                return " ".join(code(flag) for flag in option.flags(name)[:1])
    return ""


def _table(name: str, struct: type[msgspec.Struct]) -> tuple[str, str, str]:
    rows = [
        (code(field.name), _meaning(name, field), field.kind, code(field.default) if field.default else "")
        for field in fields_of(struct)
        if field.struct is None
    ]
    return (
        f"## `[{name}]`",
        prose(inspect.cleandoc(struct.__doc__ or "")),
        table(("key", "meaning", "value", "default"), rows),
    )


def _meaning(name: str, field: Field) -> str:
    option = option_of(name, field.name)
    return prose(field.meaning) + (f" Option: {option}." if option else "")
