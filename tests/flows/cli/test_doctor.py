"""`surtitle doctor` from the command line, with the real model."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SURTITLE = str(Path(sys.executable).with_name("surtitle"))
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


def run(*command: str) -> "subprocess.CompletedProcess[str]":
    """The end of a process."""
    return subprocess.run(
        command, capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL, check=False
    )


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """What a whole examination of this machine tells."""
    done = run(SURTITLE, "doctor", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def facts(told: dict[str, Any], subject: str) -> dict[str, Any]:
    """The facts about one subject."""
    (found,) = [one["facts"] for one in told["checks"] if one["subject"] == subject]
    return dict(found)


def test_all_subjects_are_examined(told: dict[str, Any]) -> None:
    assert told["works"] is True
    assert [one["subject"] for one in told["checks"]] == [
        "processor", "model", "recogniser", "memory", "disk", "microphone", "ports", "terminal", "extras",
        "speed",
    ]  # fmt: skip
    assert all(one["findings"] for one in told["checks"])


def test_the_default_model_is_loaded_and_known_as_one_for_captions(told: dict[str, Any]) -> None:
    model = facts(told, "model")
    assert (model["error"], model["is_for_captions"], model["direction"]) == (None, True, "English to German")
    assert "English to German" in model["captioned"]
    assert facts(told, "memory")["model_mb"] == model["mb"] == pytest.approx(100, abs=50)


def test_recogniser_and_translator_were_really_run(told: dict[str, Any]) -> None:
    speed = facts(told, "speed")
    assert speed["speech_s"] == 12.0
    assert speed["recognized_s"] > 0
    # A slow machine translates a part of them.
    assert len(speed["updates_ms"]) >= 3
    assert min(speed["updates_ms"]) >= 0
    assert 0 < speed["translated_s"] <= 12


def test_the_library_tells_the_instruction_sets_that_it_uses(told: dict[str, Any]) -> None:
    assert facts(told, "processor")["library"]["error"] is None
    assert facts(told, "processor")["library"]["uses"]


def test_a_model_that_is_not_there_ends_with_1_and_is_named_last() -> None:
    done = run(SURTITLE, "doctor", "--quick", "--model", "none.gguf")
    assert (done.returncode, done.stderr) == (1, "")
    assert "There is no model file none.gguf" in " ".join(done.stdout.split())
    assert done.stdout.splitlines()[-1] == "Captions will not work yet: see model."


def test_a_model_of_the_hub_is_not_fetched() -> None:
    done = run(SURTITLE, "doctor", "--quick", "--model", "hub:nobody/nothing:none.gguf", "--json")
    (model,) = [one for one in json.loads(done.stdout)["checks"] if one["subject"] == "model"]
    assert (done.returncode, model["verdict"], model["facts"]["is_absent"]) == (0, "warning", True)


def test_a_spoken_language_that_nothing_recognises_is_a_problem() -> None:
    done = run(SURTITLE, "doctor", "--quick", "--from", "German", "--to", "English", "--json")
    (recognizer,) = [one for one in json.loads(done.stdout)["checks"] if one["subject"] == "recogniser"]
    assert (done.returncode, recognizer["verdict"]) == (1, "problem")
    assert recognizer["findings"][0]["sentence"] == "The default recogniser knows English only"
    assert recognizer["findings"][0]["remedy"].startswith(
        "choose --recognizer whisper, azure or vosk for German"
    )


def test_a_language_that_does_not_exist_is_a_mistake_of_the_command_line() -> None:
    done = run(SURTITLE, "doctor", "--to", "Germna")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("did you mean German?\n")


def test_where_llama_cpp_does_not_run_only_the_doctor_does_and_does_not_load_it() -> None:
    done = run(sys.executable, "-c", WITHOUT_LIBRARY, "doctor", "--quick", "--json")
    assert (done.returncode, done.stderr) == (0, "False\n")
    assert json.loads(done.stdout)["checks"]
    refused = run(sys.executable, "-c", WITHOUT_LIBRARY, "replay", "talk.jsonl")
    assert refused.returncode == 3
    assert refused.stderr.startswith("surtitle: llama.cpp does not work here")
