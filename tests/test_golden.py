"""Outputs that refactoring must not change by a byte.

``python -m tests.test_golden`` writes them again, after a change that is meant to be seen. What the command
line and the settings take is in the generated pages of ``docs/reference/``, which have a test of their own.
"""

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from flows.captions.closing import write_summary
from flows.captions.files import begin_outputs, held_outputs
from flows.captions.graph import build
from flows.captions.parts import make_parts
from flows.running.dataflow import run
from flows.settings.loading import load_settings
from operators.serving.queues import Response, StreamQueue
from tests.recovering import ToyResources

GOLDEN = Path(__file__).with_name("golden")
SAMPLES = Path(__file__).with_name("samples")
#: The input of each sample.
RECORDINGS = {"captions": "captions", "orders": "partials", "partials": "partials", "revised": "partials"}
OUTPUTS = ("log", "sentences", "translations", "captions", "srt", "vtt", "summary")
_respond = StreamQueue.respond
# Seconds of a model that the clock of this machine has measured.
_MEASURED = re.compile(r'("(?:model|first)_s": ?)[^,}\n]+')


class QuickResources(ToyResources):
    step_s = 0.0


def replayed(recording: str) -> str:
    """What a replay of a sample on the toy model writes, one file after the other."""
    with TemporaryDirectory() as folder, patch.object(StreamQueue, "respond", _in_a_quarter_second):
        files = {name: Path(folder) / name for name in OUTPUTS}
        given = {RECORDINGS[recording]: str(SAMPLES / f"{recording}.jsonl")}
        output = {"terminal": False, "subtitles": "both"} | {name: str(file) for name, file in files.items()}
        settings = load_settings(None, {"input": given, "translate": {"to": "German"}, "output": output})
        parts = make_parts(settings, QuickResources)
        dataflow = build(parts)
        with held_outputs(settings, parts.outputs), parts.screen:
            begin_outputs(settings, parts.outputs, is_resumed=False)
            run(dataflow, parts.resources.stop, parts.given.close)
        write_summary(replace(parts.observers.summary.summary((), ()), settings={}), files["summary"])
        text = "\n".join(f"==> {name}\n{file.read_text()}" for name, file in files.items())
    return _MEASURED.sub(r"\1null", text)


def _in_a_quarter_second(stream: StreamQueue, response: Response) -> None:
    _respond(stream, response._replace(seconds=0.25))


@pytest.mark.parametrize("recording", RECORDINGS)
def test_a_replay_of_a_sample_writes_what_it_always_wrote(recording: str) -> None:
    assert replayed(recording) == (GOLDEN / f"{recording}.txt").read_text()


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for sample in RECORDINGS:
        (GOLDEN / f"{sample}.txt").write_text(replayed(sample))
