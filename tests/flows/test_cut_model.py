"""A model file that is cut short under a run: one sentence, and nothing is lost that came before."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.flows.test_live import wait_for
from tests.flows.test_stepped_clock import partial
from tests.program import SURTITLE, Program, completed

_SEGMENTS = 40

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere such a run is killed")


def test_a_model_that_is_cut_short_ends_the_run_in_one_sentence_and_it_goes_on_with_a_whole_one(
    tmp_path: Path, small: list[str]
) -> None:
    model, whole = tmp_path / "model.gguf", Path(small[1]).read_bytes()
    model.write_bytes(whole)
    talk, captions = tmp_path / "talk.jsonl", tmp_path / "captions.jsonl"
    spoken = (partial(number, 0.2 * number, is_final=True, is_sentence=True) for number in range(_SEGMENTS))
    talk.write_bytes(b"".join(spoken))
    files = [talk, "--model", model, "--captions", captions, "--recovery", tmp_path / "run"]
    command = [SURTITLE, "replay", "--realtime", "--quiet", "--threads", "2", *map(str, files)]
    with Program(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_for(captions, '"segment":3')
            os.truncate(model, 4096)
            assert process.stderr is not None
            assert (process.wait(60), process.stderr.read()) == (
                3,
                f"surtitle: {model} was truncated or overwritten while it was in use: "
                "put the whole file there and start again\n",
            )
        finally:
            process.kill()
    there = [json.loads(line)["segment"] for line in captions.read_text().splitlines()]
    assert there == list(range(len(there)))
    assert 4 <= len(there) < _SEGMENTS

    model.write_bytes(whole)
    done = completed(command)
    assert (done.returncode, done.stderr) == (0, "")
    there = [json.loads(line)["segment"] for line in captions.read_text().splitlines()]
    assert there == list(range(_SEGMENTS))
