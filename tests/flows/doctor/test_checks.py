"""The doctor's checks: a verdict, a sentence and what to do."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import flows.doctor.checks as checks
from connectors.callback import CallbackSink
from connectors.sinks.part import SinkPart
from flows.doctor.checks import Finding, Result, Verdict, examine, graphics, judge_sound
from flows.doctor.report import conclusion, print_result
from flows.doctor.speed import Speed, judge
from flows.settings.loading import load_settings
from operators.languages import Direction
from operators.models.devices import Device
from operators.notifications import silent
from tests.program import SURTITLE, completed
from tests.virtual_microphone import VirtualMicrophone


def worst(findings: list[Finding]) -> Finding:
    """The finding that decides; a warning or problem must have a remedy."""
    assert all(bool(one.remedy) or one.verdict == "ok" for one in findings)
    verdict = Result("", findings).verdict
    return next(one for one in findings if one.verdict == verdict)


SPEED = Speed(real_time_factor=0.1, updates_ms=[100.0] * 19 + [200.0], translated_s=10.0)


@pytest.mark.parametrize(
    ("change", "languages", "verdict", "words"),
    [
        ({}, 1, "ok", "an update of captions 100 ms at the median, 200 ms at the 95th percentile"),
        ({}, 1, "ok", "captions keep up with speech (31% busy)"),
        ({"updates_ms": [100.0] * 18 + [600.0] * 2}, 1, "warning", "captions come in larger steps"),
        ({"updates_ms": [400.0] * 20}, 1, "warning", "with little in reserve (90% busy)"),
        ({"updates_ms": [490.0] * 20, "real_time_factor": 0.2}, 1, "warning", "in larger steps"),
        ({"updates_ms": [4000.0] * 20}, 1, "problem", "fall behind"),
        ({"real_time_factor": 1.1}, 1, "problem", "fall behind"),
        ({"others": 0.5}, 1, "ok", "(while other programs used 50% of the processor)"),
        ({"updates_ms": []}, 1, "warning", "nothing was recognised"),
        ({"updates_ms": None}, 0, "ok", "takes 0.10 s: captions keep up with speech (10% busy)"),
        ({}, 2, "ok", "4 languages at once are possible"),
        ({}, 3, "warning", "(73% busy)"),
        ({}, 5, "warning", "larger steps"),
    ],
)
def test_the_measured_speed_leads_to_a_verdict(
    change: dict[str, Any], languages: int, verdict: Verdict, words: str
) -> None:
    found = worst(judge(SPEED._replace(**change), languages))
    assert (found.verdict, words in found.sentence) == (verdict, True), found.sentence


def test_a_gpu_that_is_there_is_used_or_missed() -> None:
    processor = Device("CPU", "AMD EPYC", is_gpu=False, megabytes=25_000)
    gpu = Device("CUDA0", "NVIDIA H200", is_gpu=True, megabytes=143_000)
    assert graphics([processor], has_nvidia=False).verdict == "ok"
    missed = worst([graphics([processor], has_nvidia=True)])
    assert (missed.verdict, "GGML_CUDA=on" in missed.remedy) == ("warning", True)
    used = graphics([gpu, processor], has_nvidia=True)
    assert (used.verdict, used.sentence) == ("ok", "llama.cpp computes on CUDA0 (NVIDIA H200), 143,000 MB")


def test_the_best_named_model_that_keeps_up_is_recommended() -> None:
    said = "the best named model that keeps up here is captions"
    assert judge(SPEED._replace(advice=said))[1].sentence.endswith(said)


@pytest.mark.parametrize(
    ("seconds", "peak_dbfs", "verdict", "words"),
    [
        (2.0, -20.0, "ok", "Desk: the loudest sound in 2 s had -20 dBFS"),
        (2.0, -50.0, "ok", "nobody seems to have spoken"),
        (2.0, -75.0, "warning", "which is silence"),
        (2.0, float("-inf"), "warning", "complete silence"),
        (2.0, -0.1, "warning", "too loud"),
        (0.0, float("-inf"), "warning", "gave no sound"),
    ],
)
def test_the_recorded_sound_leads_to_a_verdict(
    seconds: float, peak_dbfs: float, verdict: Verdict, words: str
) -> None:
    found = judge_sound("Desk", seconds, peak_dbfs)
    assert (found.verdict, words in found.sentence) == (verdict, True)


def heard(stage: VirtualMicrophone, *options: str) -> Finding:
    """The doctor's first finding about the microphone, in a process that can open it."""
    command = [SURTITLE, "doctor", "--quick", "--json", "--captions-only", *options]
    done = completed(command, env=stage.environment)
    assert done.stderr == ""
    (found,) = [one for one in json.loads(done.stdout)["checks"] if one["subject"] == "microphone"]
    return Finding(**found["findings"][0])


def test_a_microphone_is_heard(virtual_microphone: VirtualMicrophone, speech: Path) -> None:
    silence = heard(virtual_microphone)
    assert (silence.verdict, "complete silence" in silence.sentence) == ("warning", True)
    virtual_microphone.play(speech, wait=False)
    spoken = heard(virtual_microphone)
    assert (spoken.verdict, "the loudest sound in 2 s" in spoken.sentence) == ("ok", True)
    absent = heard(virtual_microphone, "--device", "no such device")
    assert absent.verdict == "problem"
    assert "there is no microphone no such device" in absent.sentence


def test_a_sound_system_that_hangs_is_reported(virtual_microphone: VirtualMicrophone) -> None:
    virtual_microphone.freeze()
    found = heard(virtual_microphone)
    assert (found.verdict, found.sentence) == ("warning", "the sound system gave no answer within 15 s")


def test_absent_extras_are_no_problem_and_are_listed_with_how_to_add_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone = ("kafka", "train")
    monkeypatch.setattr(checks, "missing", lambda extra: "it" if extra.name in gone else None)
    found = checks.extras()
    assert worst(found).verdict == "ok"
    assert found[1].sentence.endswith("python -m pip install 'surtitle[kafka]'")


def examined(**stages: dict[str, Any]) -> dict[str, list[Finding]]:
    """The findings with these settings, by subject."""
    settings = load_settings(None, stages, takes_several=True)
    return {one.subject: one.findings for one in examine(settings, silent, is_quick=True)}


def test_a_model_of_the_hub_is_not_downloaded() -> None:
    (found,) = examined(translate={"to": "German", "model": "hub:nobody/nothing:none.gguf"})["model"]
    assert (found.verdict, "was not downloaded yet" in found.sentence) == ("warning", True)


def test_a_spoken_language_that_the_recogniser_does_not_know_is_a_problem() -> None:
    german = {"from": "German", "captions_only": True}
    (found,) = examined(translate=german, recognize={"engine": "moonshine"})["recogniser"]
    assert found.verdict == "problem"
    assert found.sentence.startswith("the installed model of moonshine supports English only; choose")
    (found,) = examined(translate=german)["recogniser"]
    assert (found.verdict, found.sentence) == ("ok", "whisper can be loaded; it recognises German")


def test_a_speech_model_is_not_downloaded() -> None:
    (found,) = examined(translate={"captions_only": True}, recognize={"model": "large-v3"})["recogniser"]
    assert (found.verdict, found.remedy) == ("warning", "surtitle models get --speech large-v3")


spool = SinkPart(
    "spool", CallbackSink, "captions", "Spool.", examine=lambda path: f"The spool {path} answers"
)


def test_a_sink_in_the_settings_has_a_line_of_its_own() -> None:
    output = {"sinks": [f"{__name__}:spool=x"], "captions": "c.jsonl"}
    found = examined(translate={"captions_only": True}, output=output)
    assert found["sink-0"] == [Finding("ok", "The spool x answers")]


RESULTS = [
    Result("desk", [Finding("ok", "It stands on three legs")]),
    Result("chair", [Finding("warning", "It creaks", "oil it with one or two drops of good oil")]),
]
BROKEN = Result("lamp", [Finding("problem", "It is dark", "switch it on")])


@pytest.mark.parametrize("columns", [40, 80])
def test_findings_are_wrapped_between_words(columns: int) -> None:
    console = Console(file=io.StringIO(), width=columns)
    for result in [*RESULTS, BROKEN]:
        print_result(console, result)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert max(map(len, shown.splitlines())) <= columns
    words = " ".join(shown.split())
    assert "desk It stands on three legs" in words
    assert "chair It creaks oil it with one or two drops of good oil" in words


def test_the_last_line_says_whether_captions_will_work() -> None:
    german = [Direction.of("English", "German")]
    assert conclusion(RESULTS, german) == "Captions will work. Try: surtitle live --to German"
    assert conclusion([*RESULTS, BROKEN], german) == "Captions will not work yet: see lamp."
