"""Which type each group of a model's tensors is stored in."""

from collections.abc import Mapping

import regex

from operators.errors import UsageError

#: The groups, and the names of their tensors.
GROUPS: Mapping[str, str] = {
    "head": r"token_embd|output",
    "attention": r"blk\.\d+\.attn_(?:q|k|v|qkv|output)",
    "ffn": r"blk\.\d+\.ffn_(?:gate|up)",
    "ffn_down": r"blk\.\d+\.ffn_down",
}
#: ggml's number of each type, the elements of a block, and the type for rows that such blocks do not fill.
_TYPES: Mapping[str, tuple[int, int, str]] = {
    "F16": (1, 1, ""),
    "Q4_0": (2, 32, "F16"),
    "Q4_1": (3, 32, "F16"),
    "Q5_0": (6, 32, "F16"),
    "Q5_1": (7, 32, "F16"),
    "Q8_0": (8, 32, "F16"),
    "Q4_K": (12, 256, "Q5_0"),
    "Q5_K": (13, 256, "Q5_1"),
    "Q6_K": (14, 256, "Q8_0"),
}

Types = Mapping[str, str]

#: In the header of an adapter: the types that it was trained for, as `spell_types` writes them.
TYPES_KEY = "surtitle.trained.types"

#: What an assembled model is stored in (docs/tried.md has the times and scores of others).
USUAL: Types = {"head": "Q8_0", "attention": "Q8_0", "ffn": "Q8_0", "ffn_down": "Q8_0"}


def parse_types(text: str, usual: Types) -> dict[str, str]:
    """The types of all groups, some of which ``text`` names: ``head=Q8_0,ffn=Q4_K``, or ``Q5_0`` for all.

    Raises `UsageError` for a group or a type that is not known.
    """
    types = dict(usual)
    for part in filter(None, (one.strip() for one in text.split(","))):
        group, equals, kind = part.rpartition("=")
        if kind.upper() not in _TYPES:
            raise UsageError(
                f"{kind!r} is not a tensor type that surtitle writes; choose one of {', '.join(_TYPES)}"
            )
        if equals and group not in GROUPS:
            raise UsageError(f"{group!r} is not a group of tensors; choose one of {', '.join(GROUPS)}")
        types.update({one: kind.upper() for one in ([group] if equals else GROUPS)})
    return types


def spell_types(types: Types) -> str:
    """What `parse_types` reads."""
    return ",".join(f"{group}={kind}" for group, kind in sorted(types.items()))


def group_of(name: str) -> str | None:
    """The group of a tensor; None where it has none, and keeps its type."""
    for group, pattern in GROUPS.items():
        if regex.fullmatch(rf"(?:{pattern})\.weight", name):
            return group
    return None


def number_of(kind: str, columns: int) -> int:
    """ggml's number of a type, or of the next larger one whose blocks fill rows of so many columns.

    As llama.cpp does it: Q4_K becomes Q5_0 where rows have no multiple of 256 elements.
    """
    number, block, instead = _TYPES[kind]
    return number if columns % block == 0 else number_of(instead, columns)
