"""Outputs that a change of structure leaves as they are, byte for byte.

``python -m tests.test_golden`` writes them again, after a change that is meant to be seen. What the command
line and the settings take is in the generated pages of ``docs/reference/``, which have a test of their own.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import pytest
from msgspec.inspect import StructType, type_info
from msgspec.structs import replace

from flows.bench.benchmark import BenchResults
from flows.bench_drafts.publish import _Results as DraftsResults
from flows.bench_rooms.run import RoomsResults
from flows.bench_speech.run import SpeechBenchResults
from flows.captions.graph import build
from flows.captions.outputs import begin_outputs, held_outputs
from flows.captions.parts import make_parts
from flows.captions.summary import write_summary
from flows.loadgen.run import LoadResults
from flows.running.dataflow import run
from flows.settings.loading import load_settings
from operators.stages.translation import Update
from tests.recovering import ToyShared

GOLDEN = Path(__file__).with_name("golden")
SAMPLES = Path(__file__).with_name("samples")
#: The input of each sample.
RECORDINGS = {"captions": "captions", "orders": "partials", "partials": "partials", "revised": "partials"}
OUTPUTS = ("log", "sentences", "translations", "captions", "srt", "vtt", "summary")
BENCHMARKS = {
    "bench": BenchResults, "bench-drafts": DraftsResults, "bench-rooms": RoomsResults,
    "bench-speech": SpeechBenchResults, "loadgen": LoadResults,
}  # fmt: skip
_translation = Update.translation
# Seconds of a model that the clock of this machine has measured.
_MEASURED = re.compile(r'("(?:model|first)_s": ?)[^,}\n]+')


class QuickShared(ToyShared):
    step_s = 0.0


def replayed(recording: str) -> str:
    """What a replay of a sample on the toy model writes, one file after the other."""
    with TemporaryDirectory() as folder, patch.object(Update, "translation", _in_a_quarter_second):
        files = {name: Path(folder) / name for name in OUTPUTS}
        given = {RECORDINGS[recording]: str(SAMPLES / f"{recording}.jsonl")}
        output = {"terminal": False, "subtitles": "both"} | {name: str(file) for name, file in files.items()}
        settings = load_settings(None, {"input": given, "output": output})
        parts = make_parts(settings, QuickShared)
        dataflow = build(parts)
        with held_outputs(settings.output, parts.outputs), parts.screen:
            begin_outputs(settings.output, parts.outputs, is_resumed=False)
            run(dataflow, parts.shared.stop, parts.given.close)
        write_summary(replace(parts.observers.summary.summary((), None), settings={}), files["summary"])
        text = "\n".join(f"==> {name}\n{file.read_text()}" for name, file in files.items())
    return _MEASURED.sub(r"\1null", text)


def _in_a_quarter_second(update: Update, clock: Any, _total_s: float) -> Any:
    return _translation(update, clock, 0.25)


def json_fields() -> str:
    """The fields of the JSON that each benchmark writes."""
    return json.dumps({name: _fields(type_info(kind)) for name, kind in BENCHMARKS.items()}, indent=1) + "\n"


def _fields(kind: Any) -> Any:
    """The names of a struct's fields, with those of the structs in them; None for a plain value."""
    for one in _inside(kind):
        if isinstance(one, StructType):
            return {field.encode_name: _fields(field.type) for field in one.fields}
    return None


def _inside(kind: Any) -> Iterator[Any]:
    yield kind
    for part in (*getattr(kind, "types", ()), *filter(None, [getattr(kind, "item_type", None)])):
        yield from _inside(part)


@pytest.mark.parametrize("recording", RECORDINGS)
def test_a_replay_of_a_sample_writes_what_it_always_wrote(recording: str) -> None:
    assert replayed(recording) == (GOLDEN / f"{recording}.txt").read_text()


def test_benchmarks_write_the_fields_that_they_always_wrote() -> None:
    assert json_fields() == (GOLDEN / "bench-fields.json").read_text()


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for sample in RECORDINGS:
        (GOLDEN / f"{sample}.txt").write_text(replayed(sample))
    (GOLDEN / "bench-fields.json").write_text(json_fields())
