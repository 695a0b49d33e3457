"""The fields of a struct, as a reference tells them: name, type, default, and the comment in the code."""

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import inspect as types

# Modules of bases that have no fields.
_BASES = ("builtins", "enum", "msgspec")
_COMMENT = re.compile(r"\s*#: ?(.*)")


class Field(NamedTuple):
    """A field of a struct."""

    #: Its name on disk.
    name: str
    #: Its type and range, in words.
    kind: str
    #: Its default as it would be written; empty if it is absent by default.
    default: str
    is_required: bool
    meaning: str
    #: The struct that it holds, if it holds one.
    struct: type[msgspec.Struct] | None


def fields_of(struct: type[msgspec.Struct]) -> list[Field]:
    """The fields of ``struct``, inherited ones first."""
    info = types.type_info(struct)
    assert isinstance(info, types.StructType)
    meanings = comments_of(struct)
    return [_field(field, meanings.get(field.name, "")) for field in info.fields]


def comments_of(owner: type) -> dict[str, str]:
    """The comment (``#:``) above each attribute of a class, by name; inherited ones too."""
    comments: dict[str, str] = {}
    for base in reversed(owner.__mro__):
        if base.__module__.partition(".")[0] not in _BASES:
            comments |= dict(_own_comments(base))
    return comments


def _own_comments(owner: type) -> Iterator[tuple[str, str]]:
    source = textwrap.dedent(inspect.getsource(owner))
    lines = source.splitlines()
    (body,) = ast.parse(source).body
    assert isinstance(body, ast.ClassDef)
    for node in body.body:
        match node:
            case ast.AnnAssign(target=ast.Name(name)) | ast.Assign(targets=[ast.Name(name)]):
                if comment := _above(lines, node.lineno - 1):
                    yield name, comment


def _above(lines: list[str], place: int) -> str:
    found: list[str] = []
    while place > 0 and (comment := _COMMENT.fullmatch(lines[place - 1])):
        found.insert(0, comment[1])
        place -= 1
    return " ".join(found)


def _field(field: types.Field, meaning: str) -> Field:
    inner = [one for one in _choices(field.type) if not isinstance(one, types.NoneType)]
    structs = [one.cls for one in inner if isinstance(one, types.StructType)]
    return Field(
        name=field.encode_name,
        kind=kind_of(field.type),
        default=_default(field),
        is_required=field.required,
        meaning=meaning,
        struct=structs[0] if structs else None,
    )


def _default(field: types.Field) -> str:
    if field.default_factory is not msgspec.NODEFAULT:
        value: Any = field.default_factory()
    else:
        value = field.default
    if value is None or value is msgspec.NODEFAULT or isinstance(value, msgspec.Struct):
        return ""
    return json.dumps(value, ensure_ascii=False)


def _choices(kind: types.Type) -> tuple[types.Type, ...]:
    return kind.types if isinstance(kind, types.UnionType) else (kind,)


def kind_of(kind: types.Type) -> str:  # noqa: C901 - one case for each kind of value
    """A type and its range in words, in TOML's and JSON's terms."""
    match kind:
        case types.UnionType():
            return " or ".join(kind_of(one) for one in kind.types if not isinstance(one, types.NoneType))
        case types.Metadata(type=inner, extra_json_schema=schema):
            described = (schema or {}).get("description")
            return f"{kind_of(inner)} ({described})" if described else kind_of(inner)
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
            return f"array of {_plural(kind_of(item))}"
        case types.DictType(value_type=value):
            return f"table of {_plural(kind_of(value))}"
        case types.StructType(cls=cls) | types.EnumType(cls=cls):
            return f"[{cls.__name__}](#{cls.__name__.lower()})"
        case types.AnyType():
            return "anything"
        case types.CustomType():
            # A `Secret`, the only one that there is.
            return "string"
        case _:
            raise TypeError(f"no words for the type {kind}")


def _plural(kind: str) -> str:
    noun, space, rest = kind.partition(" ")
    return f"{noun}s{space}{rest}"


def _range(kind: types.IntType | types.FloatType) -> str:
    # Bounds of thousands of millions keep sums finite, and tell a reader nothing.
    least, most = (None if one is None or abs(one) >= 10**9 else one for one in (kind.ge, kind.le))
    if least is not None and most is not None:
        return f" {_number(least)} to {_number(most)}"
    bounds = ((">", kind.gt), ("≥", least), ("≤", most))
    return ",".join(f" {sign} {_number(bound)}" for sign, bound in bounds if bound is not None)


def _number(bound: float) -> str:
    return f"{bound:,.0f}" if bound == int(bound) else f"{bound:g}"
