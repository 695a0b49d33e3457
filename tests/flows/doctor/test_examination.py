"""The doctor never hangs and never raises, and its answer fits the terminal."""

import io
import json
import threading
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from connectors.callback import CallbackSink
from connectors.sinks.part import SinkPart
from flows.doctor.examination import checked
from flows.doctor.finding import Checked, Finding, as_json, print_checked, print_verdict, works
from flows.doctor.microphone import MicrophoneFacts
from flows.doctor.model import ModelFacts
from flows.doctor.part import Given, PartFacts, sentence, subjects
from flows.settings.loading import load_settings
from flows.settings.translate import TranslateSettings
from operators.languages import Direction
from tests.virtual_microphone import VirtualMicrophone


class Facts(msgspec.Struct):
    """Facts of a check that a test makes up."""

    number: int = 3


def test_a_check_gives_its_facts_and_what_follows() -> None:
    result = checked("desk", 5.0, Facts, lambda facts: [Finding.ok(f"{facts.number} legs")])
    assert (result.subject, result.verdict, result.facts) == ("desk", "ok", Facts())
    assert result.findings == (Finding.ok("3 legs"),)


def test_a_check_that_hangs_is_left_alone() -> None:
    hangs = threading.Event()

    def look() -> Facts:
        hangs.wait(60)
        return Facts()

    result = checked("desk", 0.1, look, lambda _facts: [])
    hangs.set()
    assert result.verdict == "warning"
    assert "could not be examined within 0.1 s" in result.findings[0].sentence


def test_a_check_that_fails_is_a_finding() -> None:
    def look() -> Facts:
        raise RuntimeError("no legs")

    (finding,) = checked("desk", 5.0, look, lambda _facts: []).findings
    assert (finding.verdict, "RuntimeError: no legs" in finding.sentence) == ("warning", True)


GERMAN = Direction.of("English", "German")
RESULTS = [
    Checked("desk", (Finding.ok("It stands on three legs"),), Facts()),
    Checked("chair", (Finding.warning("It creaks", "oil it with one or two drops of good oil"),), Facts()),
]
BROKEN = Checked("lamp", (Finding.problem("It is dark", "switch it on"),), Facts())


@pytest.mark.parametrize("columns", [40, 80])
def test_findings_are_wrapped_between_words(columns: int) -> None:
    console = Console(file=io.StringIO(), width=columns)
    for result in [*RESULTS, BROKEN]:
        print_checked(console, result)
    print_verdict(console, RESULTS, [GERMAN])
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert max(map(len, shown.splitlines())) <= columns
    words = " ".join(shown.split())
    assert "desk It stands on three legs." in words
    assert "chair It creaks. Oil it with one or two drops of good oil." in words


def test_the_last_line_says_whether_captions_will_work() -> None:
    for results, line in [
        (RESULTS, "Captions will work. Try: surtitle live --to German"),
        ([*RESULTS, BROKEN], "Captions will not work yet: see lamp."),
    ]:
        console = Console(file=io.StringIO(), width=80)
        print_verdict(console, results, [GERMAN])
        assert console.file.getvalue().strip() == line  # type: ignore[attr-defined]


def test_a_terminal_without_such_characters_gets_plain_marks() -> None:
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    console = Console(file=file, width=80)
    for result in [*RESULTS, BROKEN]:
        print_checked(console, result)
    file.seek(0)
    assert [line[0] for line in file.read().splitlines()] == ["+", "!", " ", "x", " "]


def test_json_holds_all_findings_and_facts() -> None:
    told = json.loads(as_json([*RESULTS, BROKEN]))
    assert told["works"] is works([*RESULTS, BROKEN]) is False
    assert [(one["subject"], one["verdict"]) for one in told["checks"]] == [
        ("desk", "ok"),
        ("chair", "warning"),
        ("lamp", "problem"),
    ]
    assert told["checks"][0]["facts"] == {"number": 3}
    assert told["checks"][2]["findings"][0]["remedy"] == "switch it on"


@pytest.fixture
def stage(virtual_microphone: VirtualMicrophone, monkeypatch: pytest.MonkeyPatch) -> VirtualMicrophone:
    """A microphone that child processes of this one can open."""
    for name, value in virtual_microphone.environment.items():
        monkeypatch.setenv(name, value)
    return virtual_microphone


def test_a_microphone_that_nobody_speaks_into_is_silent(stage: VirtualMicrophone) -> None:  # noqa: ARG001
    facts = MicrophoneFacts.look(None, 20.0)
    (finding,) = facts.judge(is_named=False)
    assert (facts.error, facts.heard_s >= 2.0, finding.verdict) == (None, True, "warning")
    assert "complete silence" in finding.sentence


def test_speech_into_the_microphone_is_heard(stage: VirtualMicrophone, speech: Path) -> None:
    stage.play(speech, wait=False)
    facts = MicrophoneFacts.look(None, 20.0)
    (finding,) = facts.judge(is_named=False)
    assert facts.peak_dbfs is not None
    assert (finding.verdict, -40 < facts.peak_dbfs <= 0) == ("ok", True)


def test_a_sound_system_that_hangs_costs_a_sentence(stage: VirtualMicrophone) -> None:
    stage.freeze()
    facts = MicrophoneFacts.look(None, 3.0)
    (finding, _) = facts.judge(is_named=False)
    assert finding.verdict == "warning"
    assert finding.sentence == "The sound system gave no answer within 3 s"
    assert finding.remedy == "restart it, or connect the microphone again"


def test_a_microphone_of_another_name_is_a_problem_only_if_it_was_asked_for(
    stage: VirtualMicrophone,  # noqa: ARG001
) -> None:
    (finding,) = MicrophoneFacts.look("no such device", 20.0).judge(is_named=True)
    assert finding.verdict == "problem"
    assert "There is no microphone no such device" in finding.sentence


def test_a_model_of_the_hub_is_not_fetched() -> None:
    facts = ModelFacts.look(TranslateSettings(model="hub:nobody/nothing:none.gguf"), 60.0)
    assert (facts.is_absent, facts.error) == (True, None)


def test_a_model_that_takes_too_long_is_a_problem() -> None:
    (finding,) = ModelFacts.look(TranslateSettings(), 0.01).judge()
    assert finding.verdict == "problem"
    assert finding.sentence == "Loading the model gave no answer within 0.01 s"


def test_a_spoken_language_that_the_default_recogniser_does_not_know_is_a_problem() -> None:
    german = Given(None, {"translate": {"from": "German"}})
    (finding,) = PartFacts.look("recogniser", german, 60.0).judge()
    assert (finding.verdict, finding.sentence) == ("problem", "The default recogniser knows English only")
    assert finding.remedy.startswith("choose --recognizer whisper, azure or vosk for German")


spool = SinkPart(
    "spool", CallbackSink, "captions", "Spool.", examine=lambda path: f"The spool {path} answers"
)


def test_a_sink_that_is_named_says_its_own_line() -> None:
    settings = load_settings(None, {"output": {"sinks": [f"{__name__}:spool=x"], "captions": "c.jsonl"}})
    assert subjects(settings) == ["recogniser", "sink-0"]
    assert sentence("sink-0", settings) == "The spool x answers"
