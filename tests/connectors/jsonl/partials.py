"""Partials, files of them, and flows that read and write such files, for the tests of JSON lines."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bytewax.operators as op
import msgspec
from bytewax.dataflow import Dataflow
from bytewax.errors import BytewaxRuntimeError
from bytewax.testing import TestingSink, cluster_main

from connectors.jsonl.source import JsonlSource
from operators.events import Partial


def partial(segment: int = 0, revision: int = 0, **fields: Any) -> Partial:
    given = {"stream": "talk", "text": "It was", "is_final": False, "start_s": 0.0, "end_s": 1.0}
    return Partial(**{**given, "segment": segment, "revision": revision, "arrival_s": 1.0, **fields})


def line(**fields: Any) -> bytes:
    """A line as another program would write it: without the field ``event``; None leaves a field out."""
    spelled = {**msgspec.to_builtins(partial()), **fields}
    kept = {name: value for name, value in spelled.items() if value is not None and name != "event"}
    if "event" in fields:
        kept["event"] = fields["event"]
    return json.dumps(kept).encode() + b"\n"


# Lines that are refused, by the reason.
BAD_LINES = {
    "Expected `int`, got `str` - at `$.revision`": line(revision="1"),
    "Expected `float` <= 10000000000.0 - at `$.arrival_s`": line(arrival_s=1e300),
    "Expected `int` <= 9007199254740991 - at `$.segment`": line(segment=2**53),
    "Expected `str` of length <= 1000 - at `$.stream`": line(stream="x" * 1001),
    "Object missing required field `text`": line(text=None),
    "Invalid value 'caption' - at `$.event`": line(event="caption"),
    "codec can't decode byte": line().replace(b"It", b"\xff\xfe"),
    "codec can't decode byte 0xed": line(note="x").replace(b'"x"', b'"\xed\xa0\x80"'),
    "Input data was truncated": line()[:-9],
    "maximum recursion depth": line()[:-2] + b', "x":' + b"[" * 10**5 + b"]" * 10**5 + b"}\n",
}


def write(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"".join(lines))
    return path


def events(count: int, segments: int = 7) -> list[Partial]:
    return [partial(number % segments, number // segments, text=f"word {number}") for number in range(count)]


def write_events(path: Path, written: list[Partial]) -> Path:
    path.write_bytes(msgspec.json.Encoder().encode_lines(written))
    return path


def read(source: JsonlSource[Any]) -> list[Any]:
    """What a flow reads."""
    found: list[Any] = []
    flow = Dataflow("read")
    op.output("out", op.input("in", flow, source), TestingSink(found))
    try:
        # Unlike run_main, this prints no panic of Rust when a connector raises.
        cluster_main(flow, [], 0)  # type: ignore[no-untyped-call]  # Bytewax leaves it untyped
    except BytewaxRuntimeError as error:
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        raise cause from None
    return found


def drained(part: Any) -> Iterator[Any]:
    while True:
        try:
            yield from part.next_batch()
        except StopIteration:
            return
