"""What a recogniser of windows makes of a transcriber's answers; the recording has several utterances."""

from collections.abc import Callable

import pytest
from typing_extensions import override

from operators.recognizers import windowed
from operators.recognizers.protocol import Hypothesis, NumberingState, PartialNumbering
from operators.recognizers.segmenter import Window
from operators.recognizers.windowed import Transcriber, WindowedRecognizer
from tests.operators.recognizers.speaking import chunks, pcm


class Scripted(Transcriber):
    """Says the number of the utterance, and doubts the final of the second."""

    def __init__(self, again: Callable[[Window], str | None]) -> None:
        self._again = again
        self.language = "en"

    @override
    def transcribe(self, window: Window) -> str | None:
        self.language = "en"
        return None if window.is_final and window.segment == 1 else f"utterance {window.segment}"

    @override
    def again(self, window: Window) -> str | None:
        text = self._again(window)
        self.language = "pt" if text else self.language
        return text


def heard(again: Callable[[Window], str | None]) -> list[Hypothesis]:
    recognizer = WindowedRecognizer(Scripted(again))
    hypotheses = [one for chunk in chunks(pcm("beckett.wav")) for one in recognizer.accept(chunk)]
    return [*hypotheses, *recognizer.finish()]


def test_a_doubtful_final_is_taken_back_and_said_again_in_another_language() -> None:
    hypotheses = heard(lambda window: f"frase {window.segment}")
    numbering = PartialNumbering(NumberingState("talk", heard_s=100.0))
    finals = [one for one in numbering.number(hypotheses, 1.0) if one.is_final]
    said = [(one.segment, one.text, one.spoken) for one in finals[:4]]
    assert said == [
        (0, "utterance 0", "en"), (1, "", "en"), (2, "frase 1", "pt"), (3, "utterance 2", "en"),
    ]  # fmt: skip
    assert finals[1].end_s == finals[2].end_s


def test_what_stays_doubtful_is_left_out_and_that_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    windowed._has_warned.clear()
    for _ in range(2):
        finals = [one for one in heard(lambda _window: None) if one.is_final]
        assert [(one.segment, one.is_doubtful) for one in finals[:3]] == [(0, False), (1, True), (2, False)]
    assert [vars(one)["event"] for one in caplog.records] == ["speech_doubted"]
