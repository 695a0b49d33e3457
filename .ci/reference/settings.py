"""The page of the settings file: every table and key."""

import inspect
from collections.abc import Iterator

import msgspec

from flows.settings.schema import Settings
from reference.fields import fields_of
from reference.markdown import code, page, prose, table

_INTRODUCTION = """\
A settings file is TOML. `surtitle job` runs what it describes, and the other commands that caption take one
with `--settings`. Every key may be left out. `--set TABLE.KEY=VALUE` on the
[command line](command-line.md) overrides one; unknown keys and values outside their range are refused."""


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


def _table(name: str, struct: type[msgspec.Struct]) -> tuple[str, str, str]:
    rows = [
        (code(field.name), prose(field.meaning), field.kind, code(field.default) if field.default else "")
        for field in fields_of(struct)
        if field.struct is None
    ]
    return (
        f"## `[{name}]`",
        prose(inspect.cleandoc(struct.__doc__ or "")),
        table(("key", "meaning", "value", "default"), rows),
    )
