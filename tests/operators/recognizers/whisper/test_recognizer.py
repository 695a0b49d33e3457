"""Whisper as a recogniser: what it says of speech, of pauses, and when it fails."""

from functools import cache
from typing import NoReturn

import numpy as np
import pytest

from operators.recognizers.part import RecognizerSettings
from operators.recognizers.protocol import Hypothesis
from operators.recognizers.whisper.model import WhisperModel
from operators.recognizers.whisper.recognizer import WhisperTranscriber, whisper_recognizer
from operators.recognizers.windowed.method import SpeechMethod
from operators.recognizers.windowed.segmenter import Samples, Window
from operators.trouble import ModelTrouble, Trouble
from tests.operators.recognizers.speaking import chunks, pcm, silence
from tests.operators.recognizers.test_protocol import by_segment, hear
from tests.operators.recognizers.whisper.model_folder import TINY_EN, tiny_en
from tests.operators.recognizers.whisper.speech import samples


def failing(*_given: object) -> NoReturn:
    raise ModelTrouble(Trouble.FAILED_PASS, "the speech model failed: out of memory")


SPEECH = silence(0.5) + pcm("beckett.wav", 3.0) + silence(1.0)


@cache
def said() -> list[Hypothesis]:
    return hear(whisper_recognizer(RecognizerSettings(model=str(TINY_EN))), chunks(SPEECH))


def test_speech_is_written_with_punctuation() -> None:
    finals = [one.text for one in said() if one.is_final]

    assert "Ever tried" in finals[0]
    assert "failed." in " ".join(finals)


def test_nothing_is_said_again_after_a_pause() -> None:
    heard = hear(
        whisper_recognizer(RecognizerSettings(model=str(TINY_EN))), chunks(SPEECH + silence(8.0) + SPEECH)
    )
    finals = [one for one in heard if one.is_final]
    pause_begins, pause_ends = 4.5, 12.5

    assert len(finals) >= 2
    assert not [one for one in heard if pause_begins + 0.5 < one.end_s < pause_ends]
    assert by_segment(heard)[finals[-1].segment][0].start_s > pause_ends


def test_a_pass_that_fails_costs_its_update_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = said()
    encode, calls = WhisperModel.encode, iter(range(1000))

    def failing_later(*given: object) -> object:
        return encode(*given) if next(calls) < 2 else failing()  # type: ignore[arg-type]

    monkeypatch.setattr(WhisperModel, "encode", failing_later)
    told: list[str] = []
    recognizer = whisper_recognizer(
        RecognizerSettings(model=str(TINY_EN)), observe=lambda event: told.append(event.sentence)
    )
    heard = hear(recognizer, chunks(SPEECH))

    assert heard[:2] == whole[:2]
    assert {one.text for one in heard if one.segment == 0} == {whole[0].text, whole[1].text}
    assert heard[-1].is_final
    assert len(told) == 1
    assert "out of memory" in told[0]


def test_an_utterance_whose_final_fails_leaves_nothing_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    transcriber = WhisperTranscriber(tiny_en(), [50257, 50362], SpeechMethod())
    speech = samples("beckett.wav", 2.0)
    noise = np.random.default_rng(3).standard_normal(32_000).astype(np.float32) * 0.01
    shown = transcriber.transcribe(window(0, speech))
    assert shown.startswith("Ever tried")
    assert transcriber.transcribe(window(0, noise)) == shown, "the model is at a loss"
    with monkeypatch.context() as patch:
        patch.setattr(WhisperModel, "encode", failing)
        with pytest.raises(ModelTrouble):
            transcriber.transcribe(window(0, speech, is_final=True))

    assert transcriber.transcribe(window(1, noise)) == ""


def window(segment: int, audio: Samples, *, is_final: bool = False) -> Window:
    return Window(segment=segment, start=0, samples=audio, end=len(audio), is_final=is_final)
