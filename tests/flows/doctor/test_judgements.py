"""The doctor's rules: from made-up facts to a verdict, a sentence and what to do."""

import msgspec
import pytest

from flows.doctor.finding import Checked, Finding, Verdict, from_error
from flows.doctor.machine import (
    DiskFacts,
    ExtraFacts,
    Folder,
    Library,
    MemoryFacts,
    Port,
    PortFacts,
    ProcessorFacts,
    TerminalFacts,
)
from flows.doctor.microphone import MicrophoneFacts
from flows.doctor.model import ModelFacts, SpeedFacts
from flows.doctor.part import PartFacts


def worst(findings: list[Finding]) -> Finding:
    """The finding that decides; whatever is not well has to say what to do."""
    assert all(bool(one.remedy) or one.verdict == "ok" for one in findings)
    verdict = Checked("", tuple(findings)).verdict
    return next(one for one in findings if one.verdict == verdict)


PROCESSOR = ProcessorFacts(
    name="A Processor", cores=8, usable=8, quota=None, features=("avx2", "avx512f"),
    library=Library(uses=("AVX2", "AVX512")),
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "verdict", "words"),
    [
        ({}, "ok", "A Processor: 8 cores can be used"),
        ({"usable": 2}, "ok", "2 of 8 cores"),
        ({"quota": 1.5}, "warning", "1.5 of 8 cores"),
        ({"usable": 1}, "warning", "1 of 8 core"),
        ({"quota": 0.5}, "warning", "0.5 of 8 cores"),
        ({"library": Library(uses=("AVX2",))}, "warning", "built without AVX-512, which this processor has"),
        ({"features": ("avx2", "amx_int8")}, "ok", "8 cores"),
        ({"library": Library(error="compile it again")}, "problem", "llama.cpp does not run"),
    ],
)
def test_the_processor(change: dict[str, object], verdict: Verdict, words: str) -> None:
    found = worst(msgspec.structs.replace(PROCESSOR, **change).judge())
    assert (found.verdict, words in found.sentence) == (verdict, True)


@pytest.mark.parametrize(
    ("facts", "verdict", "words"),
    [
        (MemoryFacts(8000.0, None, 100.0), "ok", "8,000 MB are free, and captions need about 500 MB"),
        (MemoryFacts(8000.0, 450.0, 100.0), "warning", "450 MB are free"),
        (MemoryFacts(3000.0, None, 4000.0), "problem", "3,000 MB are free"),
        (MemoryFacts(3000.0, None, None), "ok", "400 MB"),
        (MemoryFacts(None, None, 100.0), "ok", "does not tell"),
    ],
)
def test_the_memory(facts: MemoryFacts, verdict: Verdict, words: str) -> None:
    found = worst(facts.judge())
    assert (found.verdict, words in found.sentence) == (verdict, True)


@pytest.mark.parametrize(
    ("cache", "results", "verdict", "words"),
    [
        (Folder("/c", None, 9000.0), Folder("/r", None, 9000.0), "ok", "/c can be written, 9.0 GB are free"),
        (Folder("/c", "no", 9000.0), Folder("/r", None, 9000.0), "warning", "/c cannot be written: no"),
        (Folder("/c", None, 9.0), Folder("/r", None, 9000.0), "warning", "/c can be written, 0.0 GB"),
        (Folder("/c", None, 9000.0), Folder("/r", "no", 9000.0), "warning", "/r cannot be written: no"),
    ],
)
def test_the_disk(cache: Folder, results: Folder, verdict: Verdict, words: str) -> None:
    found = worst(DiskFacts(cache, results).judge())
    assert (found.verdict, words in found.sentence) == (verdict, True)


HEARD = MicrophoneFacts(devices=("Stage", "Desk"), name="Stage", heard_s=2.0, peak_dbfs=-20.0)


@pytest.mark.parametrize(
    ("change", "verdict", "words"),
    [
        ({}, "ok", "Stage, one of 2: the loudest sound in 2 s had -20 dBFS"),
        ({"peak_dbfs": -50.0}, "ok", "nobody seems to have spoken"),
        ({"peak_dbfs": -75.0}, "warning", "which is silence"),
        ({"peak_dbfs": None}, "warning", "complete silence"),
        ({"peak_dbfs": -0.1}, "warning", "too loud"),
        ({"heard_s": 0.0, "peak_dbfs": None}, "warning", "gave no sound"),
        ({"error": "there is no microphone; connect one"}, "warning", "There is no microphone"),
    ],
)
def test_the_microphone(change: dict[str, object], verdict: Verdict, words: str) -> None:
    found = worst(msgspec.structs.replace(HEARD, **change).judge(is_named=False))
    assert (found.verdict, words in found.sentence) == (verdict, True)


def test_a_microphone_that_was_named_has_to_be_there() -> None:
    found = MicrophoneFacts(error="there is no microphone Desk; see all").judge(is_named=True)
    assert found == [Finding("problem", "There is no microphone Desk", "see all")]


MODEL = ModelFacts(
    path="/m.gguf", name="A Model", architecture="gemma3", mb=100.0, is_for_captions=True,
    direction="English to German",
)  # fmt: skip


@pytest.mark.parametrize(
    ("change", "verdict", "words"),
    [
        ({}, "ok", "A Model (gemma3, 100 MB) can be loaded; it was trained for captions, English to German"),
        ({"is_for_captions": False}, "ok", "can be loaded; it translates English to German"),
        ({"error": "x.gguf is damaged: fetch the model again"}, "problem", "damaged"),
        ({"name": "hub:a/b:c.gguf", "is_absent": True}, "warning", "was not fetched yet"),
    ],
)
def test_the_model(change: dict[str, object], verdict: Verdict, words: str) -> None:
    found = worst(msgspec.structs.replace(MODEL, **change).judge())
    assert (found.verdict, words in found.sentence) == (verdict, True)


def test_a_better_model_that_a_run_would_download_is_named() -> None:
    (_, found) = msgspec.structs.replace(MODEL, better="English to German").judge()
    assert "downloads Firefox's model for English to German once" in found.sentence


SPEED = SpeedFacts(
    speech_s=10.0, recognized_s=1.0, updates_ms=(100.0,) * 19 + (200.0,), translated_s=10.0, threads=2
)


@pytest.mark.parametrize(
    ("change", "verdict", "words"),
    [
        ({}, "ok", "100 ms at the median, 200 ms at the 95th percentile"),
        ({}, "ok", "a second of speech takes 0.10 s: captions keep up with speech (31% busy)"),
        ({"updates_ms": (100.0,) * 18 + (600.0,) * 2}, "warning", "captions come in larger steps"),
        ({"updates_ms": (400.0,) * 20}, "warning", "with little in reserve (90% busy)"),
        ({"updates_ms": (490.0,) * 20, "recognized_s": 2.0}, "warning", "in larger steps"),
        ({"updates_ms": (4000.0,) * 20}, "problem", "fall behind"),
        ({"recognized_s": 11.0}, "problem", "fall behind"),
        ({"others": 0.5}, "ok", "(while other programs used 50% of the processor)"),
        ({"updates_ms": ()}, "warning", "Nothing was recognised"),
        ({"error": "no model; choose one"}, "problem", "No model"),
    ],
)
def test_the_speed(change: dict[str, object], verdict: Verdict, words: str) -> None:
    found = worst(msgspec.structs.replace(SPEED, **change).judge())
    assert (found.verdict, words in found.sentence) == (verdict, True)


@pytest.mark.parametrize(
    ("languages", "verdict", "words"),
    [
        (2, "ok", "enough for 4 languages at once, and 2 are wanted"),
        (3, "warning", "(73% busy)"),
        (5, "warning", "larger steps"),
    ],
)
def test_each_language_takes_its_time(languages: int, verdict: Verdict, words: str) -> None:
    found = worst(SPEED.judge(languages))
    assert (found.verdict, words in found.sentence) == (verdict, True), found.sentence


def test_the_best_named_model_that_keeps_up_is_recommended() -> None:
    said = "the best named model that keeps up here is captions"
    assert msgspec.structs.replace(SPEED, advice=said).judge()[1].sentence.endswith(said)
    assert ModelFacts(error="It is missing; get it", advice=said).judge()[1].sentence.endswith(said)


def test_a_part_that_cannot_be_used_is_a_problem() -> None:
    assert PartFacts(sentence="It recognises English").judge() == [Finding.ok("It recognises English")]
    found = PartFacts("it is missing; install it").judge()
    assert found == [Finding("problem", "It is missing", "install it")]


def test_a_port_that_is_taken_is_named_with_the_option_for_another() -> None:
    web, metrics = Port("the web page", "--port", 8080, True), Port("metrics", "--metrics", 9464, False)
    assert worst(PortFacts((web,)).judge()).verdict == "ok"
    assert worst(PortFacts((web, metrics)).judge()) == Finding(
        "warning",
        "port 9464 of metrics is taken by another program",
        "choose another one with --metrics 9465, or end that program",
    )


TERMINAL = TerminalFacts(
    is_terminal=True, encoding="utf-8", columns=80, rows=24, has_colors=True, locale="C.UTF-8"
)


@pytest.mark.parametrize(
    ("change", "verdict", "words"),
    [
        ({}, "ok", "80 columns, 24 rows, utf-8, colours"),
        ({"has_colors": False}, "ok", "no colours"),
        ({"columns": 30}, "warning", "30 columns"),
        ({"encoding": "iso8859-1"}, "warning", "The encoding is iso8859-1"),
        ({"is_terminal": False, "columns": 10}, "ok", "not a terminal"),
    ],
)
def test_the_terminal(change: dict[str, object], verdict: Verdict, words: str) -> None:
    found = worst(msgspec.structs.replace(TERMINAL, **change).judge())
    assert (found.verdict, words in found.sentence) == (verdict, True)


def test_absent_extras_are_no_defect_and_told_with_how_to_add_them() -> None:
    found = ExtraFacts(("web",), ("kafka", "train")).judge()
    assert worst(found).verdict == "ok"
    assert found[1].sentence.endswith("python -m pip install 'surtitle[kafka,train]'")


@pytest.mark.parametrize(
    ("said", "sentence", "remedy"),
    [
        ("there is nothing; do this; or that", "There is nothing; do this", "or that"),
        ("it is damaged: fetch it again", "It is damaged", "fetch it again"),
        ("do this", "Do this", ""),
        ("/a/b is absent; check it", "/a/b is absent", "check it"),
    ],
)
def test_an_error_becomes_a_finding_that_says_what_to_do(said: str, sentence: str, remedy: str) -> None:
    assert from_error(said, is_problem=True) == Finding("problem", sentence, remedy)
