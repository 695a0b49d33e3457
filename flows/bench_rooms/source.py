"""The input of a benchmark's rooms: recorded partials, or translations, which hold each update's effort."""

import hashlib
from pathlib import Path
from typing import NamedTuple

import msgspec

from connectors.jsonl.reading import event_type_of, read_events
from operators.errors import InputError
from operators.events import Partial, Translation
from operators.serving.recording import Heard, Recording
from operators.serving.simulation import Recorded


class Source(NamedTuple):
    """The recording that all rooms replay, and its origin."""

    #: The file and which of its segments these are, and a hash of the text.
    name: str
    sha256: str
    recording: Recording
    heard: tuple[Heard, ...]
    #: The effort of each update; None if that was not recorded.
    recorded: tuple[Recorded, ...] | None


def read_source(path: Path, limit: int | None) -> Source:
    """Read the first ``limit`` segments of a file of partials or translations, one stream after the other.

    Raises `InputError` for an unusable file.
    """
    kind = event_type_of(path)
    if kind not in (Partial, Translation):
        raise InputError(
            f"{path}: {kind.__name__.lower()} events cannot be replayed in rooms; "
            "give partials or translations"
        )
    events: dict[tuple[str, int], list[Partial | Translation]] = {}
    for event in read_events(path, kind):
        assert isinstance(event, Partial | Translation)
        events.setdefault((event.stream, event.segment), []).append(event)
    heard, recorded = list[Heard](), list[Recorded]()
    before: str | None = None
    offset_s = last_s = 0.0
    for number, ((stream, _), updates) in enumerate(list(events.items())[:limit]):
        if stream != before:
            # Each stream has its own clock.
            offset_s, before = last_s - updates[0].arrival_s, stream
        for event in updates:
            last_s = max(last_s, offset_s + event.arrival_s)
            text = event.source if isinstance(event, Translation) else event.text
            heard.append(Heard(number, text, event.is_final, last_s))
            if isinstance(event, Translation):
                recorded.append(Recorded.of(event.effort, len(event.tokens)))
    if not any(one.text.strip() for one in heard):
        raise InputError(f"{path}: there is nothing to translate; check the file and --limit")
    segments = heard[-1].segment + 1
    return Source(
        f"{path.name}|segments:1-{segments}",
        hashlib.sha256(msgspec.json.encode(heard)).hexdigest()[:12],
        Recording(heard),
        tuple(heard),
        tuple(recorded) if kind is Translation else None,
    )
