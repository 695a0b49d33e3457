"""The page of the records: what surtitle writes and reads as JSON."""

import inspect
from enum import StrEnum
from pathlib import Path

import msgspec

from operators import events
from operators.trouble import Trouble
from reference.fields import comments_of, fields_of
from reference.markdown import code, page, prose, table

_ROOT = Path(__file__).parents[2]

_INTRODUCTION = """\
Events are written one JSON object per line, to files and to topics. The field `event` names the type; it may
be missing in files from elsewhere if the other fields tell the type. A file of any of them replaces the
stages before it (`surtitle replay`).

New fields are optional, so older files stay readable; a change that an older reader would misread gets a new
name, such as `caption/2`. Times are in seconds, and count from the first sample of the stream unless stated
otherwise."""

#: Each event, and the file among the samples that shows one.
_EVENTS: tuple[tuple[type[msgspec.Struct], str], ...] = (
    (events.AudioChunk, ""),
    (events.Partial, "partials.jsonl"),
    (events.Translation, ""),
    (events.Caption, "captions.jsonl"),
    (events.ErasureRecord, ""),
)
_PARTS: tuple[type[msgspec.Struct], ...] = (events.Effort, events.Erasure, events.Latency)


def records_page() -> str:
    """The page."""
    known: dict[str, str] = {}
    parts = ["## Events", _INTRODUCTION]
    for struct, sample in _EVENTS:
        parts += _struct(struct, known)
        if sample:
            first = (_ROOT / "tests" / "samples" / sample).read_text().splitlines()[0]
            parts.append(f"```json\n{first}\n```")
    for struct in _PARTS:
        parts += _struct(struct, known)
    parts += _enum(Trouble)
    return page("Records", *parts)


def _struct(struct: type[msgspec.Struct], known: dict[str, str]) -> list[str]:
    """The section of a struct; a field without a comment means what it meant in the last one."""
    rows = []
    for field in fields_of(struct):
        meaning = known[field.name] = field.meaning or known.get(field.name, "")
        needed = "required" if field.is_required else (code(field.default) if field.default else "absent")
        rows.append((code(field.name), prose(meaning), field.kind, needed))
    config = struct.__struct_config__
    if config.tag_field and isinstance(config.tag, str):
        tag = (code(config.tag_field), "The type.", code(f'"{config.tag}"'), "")
        rows.insert(0, tag)
    return [
        f"### {struct.__name__}",
        _description(struct),
        table(("field", "meaning", "value", "default"), rows),
    ]


def _enum(kind: type[StrEnum]) -> list[str]:
    comments = comments_of(kind)
    rows = [(code(f'"{one.value}"'), prose(comments[one.name])) for one in kind]
    return [f"### {kind.__name__}", _description(kind), table(("value", "meaning"), rows)]


def _description(documented: type) -> str:
    return prose(inspect.cleandoc(documented.__doc__ or "").partition("\n\nExample:")[0])
