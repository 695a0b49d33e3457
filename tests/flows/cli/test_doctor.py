"""`surtitle doctor` from the command line, with the real model."""

import json
import os
import re
import subprocess

from tests.program import SURTITLE, completed


def run(*command: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """The end of a process with these variables in its environment."""
    return completed(command, env={**os.environ, **variables})


def test_all_subjects_are_examined() -> None:
    done = run(SURTITLE, "doctor", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert told["works"] is True
    found = {one["subject"]: " ".join(each["sentence"] for each in one["findings"]) for one in told["checks"]}
    assert [*found] == ["processor", "model", "recogniser", "speakers", "speed", "microphone", "extras"]
    assert "MB) can be loaded; it was trained for captions, English to German" in found["model"]
    assert "moonshine can be loaded; it recognises English" in found["recogniser"]
    assert re.search(r"an update of captions \d+ ms at the median", found["speed"])


def test_a_model_that_is_not_there_ends_with_1_and_is_named_last() -> None:
    done = run(SURTITLE, "doctor", "--quick", "--model", "none.gguf")
    assert (done.returncode, done.stderr) == (1, "")
    assert "there is no model file none.gguf" in " ".join(done.stdout.split())
    assert done.stdout.splitlines()[-1] == "Captions will not work yet: see model."
