"""A recogniser in a process of its own says what it says in this one, and outlives what its engine does."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from operators.errors import InputError
from operators.events import AudioChunk
from operators.recognizers.moonshine import MoonshineRecognizer
from operators.recognizers.process import ProcessRecognizer
from operators.recognizers.protocol import Hypothesis, Recognizer
from tests.operators.recognizers.failing import TRIGGER, crash_at_once, faulty, no_model
from tests.operators.recognizers.speaking import ToneRecognizer, chunks, pcm, silence, tone

TALK = silence(0.2) + tone(0.5) + silence(0.3) + tone(0.8) + silence(0.2) + tone(0.3)


def by_chunk(recognizer: Recognizer, given: list[AudioChunk]) -> list[list[Hypothesis]]:
    heard = [list(recognizer.accept(chunk)) for chunk in given]
    heard.append(list(recognizer.finish()))
    recognizer.close()
    return heard


def finals(heard: list[list[Hypothesis]]) -> list[Hypothesis]:
    return [hypothesis for new in heard for hypothesis in new if hypothesis.is_final]


def hear_with(
    recognizer: ProcessRecognizer, given: list[AudioChunk], before: dict[int, Callable[[], None]]
) -> list[list[Hypothesis]]:
    """Hypotheses by chunk, where something happens before some of the chunks."""
    heard = []
    for number, chunk in enumerate(given):
        before.get(number, lambda: None)()
        heard.append(list(recognizer.accept(chunk)))
    heard.append(list(recognizer.finish()))
    recognizer.close()
    return heard


def kill(recognizer: ProcessRecognizer) -> Callable[[], None]:
    return lambda: os.kill(recognizer.pid, signal.SIGKILL)


def has_ended(pid: int, within_s: float = 20.0) -> bool:
    """Wait for a process, which need not be a child of this one."""
    try:
        watch = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([watch], [], [], within_s)[0])
    finally:
        os.close(watch)


def test_real_speech_has_the_same_hypotheses_at_the_same_chunks() -> None:
    given = chunks(pcm("beckett.wav", 5))

    assert by_chunk(ProcessRecognizer(MoonshineRecognizer), given) == by_chunk(MoonshineRecognizer(), given)


@pytest.mark.parametrize("at", [4, 10, 13, 17, 21])
def test_a_killed_child_costs_nothing_that_was_said(at: int) -> None:
    told: list[str] = []
    recognizer = ProcessRecognizer(ToneRecognizer, tell=told.append)
    heard = hear_with(recognizer, chunks(TALK), {at: kill(recognizer)})

    assert finals(heard) == finals(by_chunk(ToneRecognizer(), chunks(TALK)))
    assert told == ["the speech engine's process was ended by signal 9; a new one takes over"]


def test_what_a_viewer_has_read_does_not_shrink_when_the_child_is_killed() -> None:
    recognizer = ProcessRecognizer(ToneRecognizer)
    heard = hear_with(recognizer, chunks(TALK), {14: kill(recognizer)})
    texts = [hypothesis.text for new in heard for hypothesis in new if hypothesis.segment == 1]

    assert texts == sorted(texts, key=len)


def test_real_speech_goes_on_when_the_child_is_killed_in_mid_segment() -> None:
    given = chunks(pcm("beckett.wav", 5))
    recognizer = ProcessRecognizer(MoonshineRecognizer)
    heard = hear_with(recognizer, given, {7: kill(recognizer), 36: kill(recognizer)})
    undisturbed = finals(by_chunk(MoonshineRecognizer(), given))

    assert [final.segment for final in finals(heard)] == [final.segment for final in undisturbed]
    for final, word in zip(finals(heard), ["tried", "failed", "matter"], strict=False):
        assert word in final.text.lower()


def test_an_open_segment_whose_beginning_is_forgotten_keeps_its_text() -> None:
    given = chunks(silence(0.2) + tone(4.0))
    recognizer = ProcessRecognizer(ToneRecognizer, context_s=0.5, memory_s=1.0)
    heard = hear_with(recognizer, given, {30: kill(recognizer)})
    first, second = finals(heard)

    assert (first.segment, second.segment) == (0, 1)
    assert first.end_s == pytest.approx(3.0)
    assert second.start_s == pytest.approx(3.0)
    assert len((first.text + " " + second.text).split()) == 40


def test_a_child_that_leaks_is_replaced_in_a_pause() -> None:
    told: list[str] = []
    recognizer = ProcessRecognizer(faulty("leak"), max_growth_mb=50, tell=told.append)
    first_pid = recognizer.pid
    speech = chunks(TRIGGER * 4)
    heard = [list(recognizer.accept(chunk)) for chunk in speech]
    assert recognizer.pid == first_pid, "the segment is open"

    at_s = 0.4
    while recognizer.pid == first_pid and at_s < 3600:
        (pause,) = chunks(silence(0.1), start_s=at_s)
        heard.append(list(recognizer.accept(pause)))
        at_s += 0.1
    heard += [list(recognizer.accept(chunk)) for chunk in chunks(tone(0.3), start_s=at_s)]
    heard.append(list(recognizer.finish()))
    recognizer.close()

    assert has_ended(first_pid)
    assert [(final.segment, final.text) for final in finals(heard)] == [
        (0, "word word word word"),
        (1, "word word word"),
    ]
    assert finals(heard)[1].start_s == pytest.approx(at_s)
    assert told == []


def test_a_child_that_leaks_in_speech_without_a_pause_is_replaced_all_the_same() -> None:
    recognizer = ProcessRecognizer(faulty("leak"), max_growth_mb=15)
    first_pid = recognizer.pid
    at = 0
    heard: list[list[Hypothesis]] = []
    while recognizer.pid == first_pid and at < 10_000:
        audio = TRIGGER if at < 4 else tone(0.1)
        heard += [list(recognizer.accept(chunk)) for chunk in chunks(audio, start_s=at / 10)]
        at += 1
    heard.append(list(recognizer.finish()))
    recognizer.close()

    assert has_ended(first_pid)
    assert len(" ".join(final.text for final in finals(heard)).split()) == at


def test_audio_that_no_engine_survives_is_passed_over() -> None:
    told: list[str] = []
    given = chunks(tone(0.3) + TRIGGER + silence(0.2) + tone(0.2))
    heard = by_chunk(ProcessRecognizer(faulty("crash"), tell=told.append), given)

    assert [(final.segment, final.text) for final in finals(heard)] == [
        (0, "word word word"),
        (1, "word word"),
    ]
    assert told == ["the speech engine's process was ended by signal 11; a new one takes over"] * 2


def test_an_engine_that_hangs_is_replaced() -> None:
    told: list[str] = []
    recognizer = ProcessRecognizer(faulty("hang"), patience_s=1.0, tell=told.append)
    first_pid = recognizer.pid
    recognizer.accept(chunks(TRIGGER)[0])
    recognizer.close()

    assert "gave no answer for 1 seconds" in told[0]
    assert has_ended(first_pid)


def test_an_engine_that_always_crashes_is_an_error_in_one_sentence() -> None:
    with pytest.raises(InputError, match="ended with exit code 3, like 2 before it; check the speech model"):
        ProcessRecognizer(crash_at_once)


def test_errors_in_the_child_are_raised_here() -> None:
    with pytest.raises(InputError, match=r"^model: there is no such folder$"):
        ProcessRecognizer(no_model)
    recognizer = ProcessRecognizer(faulty("raise"))
    with pytest.raises(RuntimeError, match="it went wrong"):
        recognizer.accept(chunks(TRIGGER)[0])
    recognizer.close()


def test_an_interrupt_from_the_terminal_is_not_for_the_child() -> None:
    recognizer = ProcessRecognizer(ToneRecognizer)
    pid = recognizer.pid
    assert os.getpgid(pid) != os.getpgid(0)
    recognizer.accept(chunks(tone(0.1))[0])
    os.kill(pid, signal.SIGINT)
    recognizer.accept(chunks(tone(0.1), start_s=0.1)[0])

    assert recognizer.pid == pid
    recognizer.close()


def test_an_answer_that_an_interrupt_left_behind_is_not_taken_for_the_next_one() -> None:
    class KeyPressedError(BaseException):
        pass

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyPressedError

    recognizer = ProcessRecognizer(faulty("signal the parent"))
    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(KeyPressedError):
            recognizer.accept(chunks(TRIGGER)[0])
    finally:
        signal.signal(signal.SIGUSR1, before)
    heard = [list(recognizer.accept(chunk)) for chunk in chunks(tone(0.2), start_s=0.1)]
    heard.append(list(recognizer.finish()))
    recognizer.close()

    assert [hypothesis.text for new in heard for hypothesis in new] == [
        "word",
        "word word",
        "word word word",
        "word word word",
    ]


def test_what_the_engine_prints_does_not_reach_the_user(capfd: pytest.CaptureFixture[str]) -> None:
    by_chunk(ProcessRecognizer(faulty("print")), chunks(TRIGGER))

    assert capfd.readouterr() == ("", "")


def test_closing_ends_the_child() -> None:
    recognizer = ProcessRecognizer(ToneRecognizer)
    recognizer.close()

    assert has_ended(recognizer.pid)


@pytest.mark.parametrize("fault", ["print", "hang"])
def test_no_child_outlives_its_parent(fault: str) -> None:
    """Not even when the parent is killed while the engine is busy."""
    program = f"""
from operators.recognizers.process import ProcessRecognizer
from tests.operators.recognizers.failing import TRIGGER, faulty
from tests.operators.recognizers.speaking import chunks
recognizer = ProcessRecognizer(faulty({fault!r}))
print(recognizer.pid, flush=True)
recognizer.accept(chunks(TRIGGER)[0])
input()
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        parent.kill()

    assert has_ended(child)
