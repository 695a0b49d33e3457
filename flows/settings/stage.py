"""What the settings of all stages are made of."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

Positive = Annotated[int, Meta(ge=1)]
NotNegative = Annotated[int, Meta(ge=0)]
Probability = Annotated[float, Meta(ge=0.0, le=1.0)]


class Stage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of one stage."""


def keys_of(table: type[msgspec.Struct]) -> dict[str, Any]:
    """The keys of a table of the file, with their types."""
    return {field.encode_name: field.type for field in msgspec.structs.fields(table)}


def is_table(kind: Any) -> bool:
    """Whether settings of this type are a table."""
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)
