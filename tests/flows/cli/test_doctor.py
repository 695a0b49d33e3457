"""`surtitle doctor` from the command line, with the real model."""

import json
import os
import re
import subprocess
import sys

from tests.program import SURTITLE, completed

# The program on a machine on which llama.cpp does not run; it tells whether it loaded llama.cpp all the same.
WITHOUT_LIBRARY = """
import sys, connectors.machine.trial as trial
from operators.errors import InputError
def require_library(): raise InputError("llama.cpp does not work here; compile it again")
trial.require_library = require_library
from flows.main import main
sys.argv = ["surtitle", *sys.argv[1:]]
try:
    main()
finally:
    print("llama_cpp" in sys.modules, file=sys.stderr)
"""


def run(*command: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """The end of a process with these variables in its environment."""
    return completed(command, env={**os.environ, **variables})


def test_all_subjects_are_examined() -> None:
    done = run(SURTITLE, "doctor", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert told["works"] is True
    found = {one["subject"]: " ".join(each["sentence"] for each in one["findings"]) for one in told["checks"]}
    assert [*found] == ["processor", "model", "recogniser", "speed", "microphone", "extras"]
    assert "llama.cpp runs" in found["processor"]
    assert "MB) can be loaded; it was trained for captions, English to German" in found["model"]
    assert "Moonshine can be loaded; it recognises English" in found["recogniser"]
    assert re.search(r"An update of captions takes \d+ ms at the median", found["speed"])


def test_a_model_that_is_not_there_ends_with_1_and_is_named_last() -> None:
    done = run(SURTITLE, "doctor", "--quick", "--model", "none.gguf")
    assert (done.returncode, done.stderr) == (1, "")
    assert "There is no model file none.gguf" in " ".join(done.stdout.split())
    assert done.stdout.splitlines()[-1] == "Captions will not work yet: see model."


def test_the_doctor_does_not_load_llama_cpp_which_the_other_commands_refuse_without_a_trial() -> None:
    def begun(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-c", WITHOUT_LIBRARY, *arguments]
        return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)

    done = begun("doctor", "--quick", "--json")
    assert (done.returncode, done.stderr) == (1, "False\n")
    assert json.loads(done.stdout)["checks"][0]["verdict"] == "problem"
    refused = begun("replay", "talk.jsonl")
    assert refused.returncode == 3
    assert refused.stderr.startswith("surtitle: llama.cpp does not work here")
