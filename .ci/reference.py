"""Writes the reference pages that come from the code into ``docs/reference/``: ``python -m reference``.

They are committed, so that they can be read next to the code; a test fails if one is out of date.
"""

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect as types
from typer.cli import get_docs_for_click
from typer.main import get_command

from flows.cli.app import app
from flows.settings.schema import Settings
from operators import errors, events
from operators.model_errors import ErrorKind

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "reference"

_COMMAND_LINE = """\
`surtitle COMMAND --help` prints the same. `--set` overrides any key of the [settings file](settings.md)."""

_EXITS = """\
Ctrl-C before captions begin, or before another command is finished, also exits with 130; so does a second
Ctrl-C. If nobody reads standard output any more, captions end with 4, and other commands with 1. The exit
code is also 1 if `surtitle doctor` finds that captions will not work. Any other defect in surtitle exits with
70."""

_ERRORS = (
    errors.UsageError, errors.InputError, errors.OutputError, errors.InternalError, errors.ClusterError,
    errors.InterruptedRunError,
)  # fmt: skip

_SETTINGS = """\
A settings file is TOML. `surtitle job` runs what it describes, and the other commands that caption take one
with `--settings`. Every key may be left out. `--set TABLE.KEY=VALUE` on the
[command line](command-line.md) overrides one; unknown keys and values outside their range are refused."""

_RECORDS = """\
Events are written one JSON object per line, to files and to topics. The field `event` names the type; it may
be missing in files from elsewhere if the other fields tell the type. A file of any of them replaces the
stages before it (`surtitle replay`).

New fields are optional, so older files stay readable; a change that an older reader would misread gets a new
name, such as `caption/2`. Times are in seconds, and count from the first sample of the stream unless stated
otherwise."""

#: The structs of the records, and the file among the samples that shows one.
_STRUCTS: Mapping[type[msgspec.Struct], str] = {
    events.AudioChunk: "",
    events.Partial: "partials.jsonl",
    events.Translation: "",
    events.Caption: "captions.jsonl",
    events.ErasureRecord: "",
    events.Effort: "",
    events.Erasure: "",
    events.Latency: "",
}

Struct = type[msgspec.Struct]


class Field(NamedTuple):
    """A field of a struct."""

    #: Its name on disk.
    name: str
    #: Its type and range, in words.
    kind: str
    #: Its default as it would be written; empty if it is absent by default.
    default: str
    is_required: bool
    #: The comment above it.
    meaning: str
    #: The struct that it holds, if it holds one.
    struct: Struct | None


def command_line_page() -> str:
    """Every command, argument and option, and the exit codes."""
    command = get_command(app)
    context: Any = command.make_context("surtitle", [], resilient_parsing=True)
    commands = get_docs_for_click(obj=command, ctx=context, name="surtitle")
    codes = [("`0`", "Success.")]
    codes += [(f"`{kind.exit_code}`", _prose((kind.__doc__ or "").partition("\n\n")[0])) for kind in _ERRORS]
    # The heading of the whole program is the page's.
    body = commands.partition("\n")[2].strip()
    return _page(
        "Command line", _COMMAND_LINE, body, "## Exit codes", _EXITS, _table(("code", "meaning"), codes)
    )


def settings_page() -> str:
    """Every table and key of the settings file."""
    parts: list[str] = []
    for name, struct in tables_of(Settings):
        rows = [
            (_code(one.name), _prose(one.meaning), one.kind, _code(one.default))
            for one in fields_of(struct)
            if one.struct is None
        ]
        head = ("key", "meaning", "value", "default")
        parts += [f"## `[{name}]`", _description(struct), _table(head, rows)]
    return _page("Settings", _SETTINGS, *parts)


def tables_of(struct: Struct, prefix: str = "") -> Iterator[tuple[str, Struct]]:
    """The tables inside a table, with their names in a file."""
    for field in fields_of(struct):
        if field.struct is not None:
            yield prefix + field.name, field.struct
            yield from tables_of(field.struct, f"{prefix}{field.name}.")


def records_page() -> str:
    """What surtitle writes and reads as JSON."""
    known: dict[str, str] = {}
    parts = ["## Events", _RECORDS]
    for struct, sample in _STRUCTS.items():
        config, rows = struct.__struct_config__, list[tuple[str, ...]]()
        if config.tag_field and isinstance(config.tag, str):
            rows.append((_code(config.tag_field), "The type.", _code(f'"{config.tag}"'), ""))
        for field in fields_of(struct):
            # A field without a comment has the same meaning as in the last struct.
            meaning = known[field.name] = field.meaning or known.get(field.name, "")
            default = "required" if field.is_required else _code(field.default) or "absent"
            rows.append((_code(field.name), _prose(meaning), field.kind, default))
        head = ("field", "meaning", "value", "default")
        parts += [f"### {struct.__name__}", _description(struct), _table(head, rows)]
        if sample:
            first = (ROOT / "tests" / "samples" / sample).read_text().splitlines()[0]
            parts.append(f"```json\n{first}\n```")
    return _page("Records", *parts, *_enum(ErrorKind))


def _enum(kind: type[StrEnum]) -> list[str]:
    comments = _comments(kind)
    rows = [(_code(f'"{one.value}"'), _prose(comments[one.name])) for one in kind]
    return [f"### {kind.__name__}", _description(kind), _table(("value", "meaning"), rows)]


def fields_of(struct: Struct) -> list[Field]:
    """The fields of a struct, inherited ones first."""
    info = types.type_info(struct)
    assert isinstance(info, types.StructType)
    meanings = _comments(struct)
    return [_field(field, meanings.get(field.name, "")) for field in info.fields]


def _field(field: types.Field, meaning: str) -> Field:
    choices = field.type.types if isinstance(field.type, types.UnionType) else (field.type,)
    struct = next((one.cls for one in choices if isinstance(one, types.StructType)), None)
    value: Any = field.default
    if field.default_factory is not msgspec.NODEFAULT:
        value = field.default_factory()
    is_absent = value is None or value is msgspec.NODEFAULT or isinstance(value, msgspec.Struct)
    default = "" if is_absent else json.dumps(value, ensure_ascii=False)
    return Field(field.encode_name, _kind(field.type), default, field.required, meaning, struct)


def _kind(kind: types.Type) -> str:  # noqa: C901 - one case for each kind of value
    """A type and its range in words, in TOML's and JSON's terms."""
    match kind:
        case types.UnionType():
            return " or ".join(_kind(one) for one in kind.types if not isinstance(one, types.NoneType))
        case types.Metadata(type=inner, extra_json_schema=schema):
            described = (schema or {}).get("description")
            return f"{_kind(inner)} ({described})" if described else _kind(inner)
        case types.LiteralType(values=values):
            return ", ".join(f"`{json.dumps(value)}`" for value in values)
        case types.BoolType():
            return "boolean"
        case types.IntType():
            return "integer" + _range(kind)
        case types.FloatType():
            return "number" + _range(kind)
        case types.StrType(max_length=most):
            return "string" if most is None else f"string of at most {most} characters"
        case types.BytesType():
            return "string, base64"
        case types.VarTupleType(item_type=item) | types.ListType(item_type=item):
            return f"array of {_plural(_kind(item))}"
        case types.DictType(value_type=value):
            return f"table of {_plural(_kind(value))}"
        case types.StructType(cls=cls) | types.EnumType(cls=cls):
            return f"[{cls.__name__}](#{cls.__name__.lower()})"
        case types.AnyType():
            return "anything"
        case types.CustomType():
            # A `Secret`, which is the only custom type.
            return "string"
        case _:
            raise TypeError(f"no words for the type {kind}")


def _plural(kind: str) -> str:
    noun, space, rest = kind.partition(" ")
    return f"{noun}s{space}{rest}"


def _range(kind: types.IntType | types.FloatType) -> str:
    # Bounds of thousands of millions keep sums finite, and are not useful to a reader.
    least, most = (None if one is None or abs(one) >= 10**9 else one for one in (kind.ge, kind.le))
    if least is not None and most is not None:
        return f" {least:,g} to {most:,g}"
    bounds = ((">", kind.gt), ("≥", least), ("≤", most))
    return ",".join(f" {sign} {bound:,g}" for sign, bound in bounds if bound is not None)


def _comments(owner: type) -> dict[str, str]:
    """The comment (``#:``) above each attribute of a class, by name; inherited ones too."""
    comments: dict[str, str] = {}
    for base in reversed(owner.__mro__):
        if base.__module__.partition(".")[0] in ("builtins", "enum", "msgspec"):
            continue
        source = textwrap.dedent(inspect.getsource(base))
        (body,) = ast.parse(source).body
        assert isinstance(body, ast.ClassDef)
        for node in body.body:
            match node:
                case ast.AnnAssign(target=ast.Name(name)) | ast.Assign(targets=[ast.Name(name)]):
                    if above := _comment_above(source.splitlines()[: node.lineno - 1]):
                        comments[name] = above
    return comments


def _comment_above(lines: list[str]) -> str:
    found: list[str] = []
    while lines and (comment := re.fullmatch(r"\s*#: ?(.*)", lines.pop())):
        found.insert(0, comment[1])
    return " ".join(found)


def _page(title: str, *parts: str) -> str:
    notice = "<!-- Generated by `make reference`; change the code instead. -->"
    return "\n\n".join(part for part in (f"# {title}", notice, *parts) if part) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, or nothing if there are no rows."""
    lines = [_row(cells) for cells in rows]
    return "\n".join([_row(head), "|" + "---|" * len(head), *lines]) if lines else ""


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", r"\|") for cell in cells) + " |"


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _description(documented: type) -> str:
    return _prose(inspect.cleandoc(documented.__doc__ or "").partition("\n\nExample:")[0])


def _prose(text: str) -> str:
    """A docstring's text or a comment's, in Markdown: code has one backtick there, and "<" begins a tag."""
    spans = re.split(r"(`[^`]+`)", re.sub(r"``(.+?)``", r"`\1`", text))
    return "".join(span if span.startswith("`") else span.replace("<", "&lt;") for span in spans)


PAGES: Mapping[str, Callable[[], str]] = {
    "command-line.md": command_line_page,
    "settings.md": settings_page,
    "records.md": records_page,
}

if __name__ == "__main__":
    for name, make in PAGES.items():
        (FOLDER / name).write_text(make())
