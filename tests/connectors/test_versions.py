"""What is stored says which version it is of; an older one is read or refused by name."""

import hashlib
import json
import zlib
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest

from connectors.audio.source import AudioPosition
from connectors.files.sink import FileState
from connectors.jsonl.files import EVENT_TYPES, event_type_of, validate
from connectors.jsonl.source import JsonlPosition
from connectors.microphone.source import MicrophonePosition
from connectors.recovery import SCHEMA
from operators.decoding.translator import SegmentState, Window
from operators.errors import InputError
from operators.metrics.erasure import ErasureState
from operators.sentences.joining import SentencesState
from operators.stages.display import DisplayState
from operators.stages.recognize import HeardState
from operators.stages.snapshots import unpack
from operators.stages.translate import StageState
from operators.subtitles.writer import WriterState

SEGMENT = {"stream": "talk", "segment": 0, "revision": 0, "is_final": True}
TIMES = {"start_s": 0.0, "end_s": 1.0, "arrival_s": 1.5}
ERASURE = {"length": 1, "erased": 0, "ne_segment": 0.0, "ne_stream": 0.0}
#: The least that the first version wrote of each event.
FIRST: dict[str, dict[str, Any]] = {
    "audio": {"stream": "talk", "start_s": 0.0, "pcm": ""},
    "partial": SEGMENT | TIMES | {"text": "so"},
    "translation": SEGMENT | TIMES | {
        "source": "so", "text": "also", "tokens": [7], "pieces": ["also"], "ready_s": 2.0,
    },
    "caption": SEGMENT | TIMES | {"source": "so", "shown": "also", "withheld": "", "ready_s": 2.0},
    "erasure": SEGMENT | {
        "raw": ERASURE, "shown": ERASURE, "latency_from_speech_s": 1.0, "latency_from_arrival_s": 0.5,
        "signature": "tok:13a",
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", EVENT_TYPES)
def test_a_file_of_the_first_version_is_read_and_one_of_a_later_version_refused_by_name(
    kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "events.jsonl"
    # Other programs may leave the name out.
    for fields in ({"event": kind} | FIRST[kind], FIRST[kind]):
        path.write_text(json.dumps(fields))
        assert event_type_of(path) is EVENT_TYPES[kind]
        assert validate(path, EVENT_TYPES[kind]) == 1
    path.write_text(json.dumps({"event": f"{kind}/2"} | FIRST[kind]))
    for read in (event_type_of, lambda path: validate(path, EVENT_TYPES[kind])):
        with pytest.raises(InputError, match=f"events.jsonl, line 1: .*{kind}/2"):
            read(path)


def test_states_change_only_with_the_schema_of_the_folder() -> None:
    found: dict[str, str] = {}
    for state in (
        AudioPosition, ErasureState, FileState, JsonlPosition, MicrophonePosition, HeardState,
        SentencesState, DisplayState, StageState, WriterState,
    ):  # fmt: skip
        _collect(state, found)
    digest = hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest()[:16]
    assert (SCHEMA, digest) == (11, "faa0edff9778e551"), (
        f"a state has changed: raise SCHEMA unless the older one is read; now they are {found}"
    )


def test_a_state_of_the_first_version_of_the_schema_is_read() -> None:
    stored = StageState({3: SegmentState((Window((1, 2), (7,), (4,)),))})
    # What was added since then comes last.
    first = zlib.compress(msgspec.msgpack.encode([{3: [[[[1, 2], [7], [4]]]]}, []]))
    assert unpack(first, StageState) == stored


def _collect(kind: Any, found: dict[str, str]) -> None:
    """The fields of a struct and of all structs in it."""
    for part in get_args(kind):
        _collect(part, found)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind.__name__ not in found:
        found[kind.__name__] = " ".join(kind.__struct_fields__)
        for field in get_type_hints(kind).values():
            _collect(field, found)
