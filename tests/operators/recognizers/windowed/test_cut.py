"""A transcript without an end is cut where speech in its language could not be longer, and that is told."""

from collections.abc import Sequence
from typing import cast

import numpy as np
import pytest

from operators.decoding.forward import Logits
from operators.events import SAMPLE_RATE
from operators.languages import language
from operators.observed import SpeechCut
from operators.recognizers.moonshine.model import MoonshineModel, Tokenizer
from operators.recognizers.moonshine.recognizer import MoonshineTranscriber
from operators.recognizers.windowed.method import DraftingTranscriber, SpeechMethod
from operators.recognizers.windowed.segmenter import Window

METHOD = SpeechMethod(use_draft=False)
SECONDS = 4.0


class Counting:
    """A model that counts on for ever: the token at each position is that position's number."""

    tokenizer = Tokenizer([f" {number}".encode() for number in range(300)])

    def encode(self, _samples: object, *_prompt: object) -> "Counting":
        return self

    def cut(self, length: int) -> int:
        return length

    def evaluate(self, tokens: Sequence[int], start: int, rows: int) -> Logits:
        logits = np.zeros((rows, 300), np.float32)
        for row, place in enumerate(range(start + len(tokens) - rows, start + len(tokens))):
            logits[row, 10 + place] = 20.0
        return logits


def moonshine(spoken: str | None, told: list[SpeechCut]) -> DraftingTranscriber:
    tongue = None if spoken is None else language(spoken)
    return MoonshineTranscriber(cast(MoonshineModel, Counting()), METHOD, spoken=tongue, observe=told.append)


def window(*, is_final: bool) -> Window:
    samples = round(SECONDS * SAMPLE_RATE)
    return Window(0, 0, samples, np.zeros(samples, np.float32), is_final)


@pytest.mark.parametrize(
    ("spoken", "tokens"),
    [(None, 34), ("English", 34), ("Korean", 60), ("Arabic", 60), ("Spanish", 60), ("Vietnamese", 60)],
)
def test_moonshines_text_may_be_as_long_as_its_language_needs(spoken: str | None, tokens: int) -> None:
    assert len(moonshine(spoken, []).transcribe(window(is_final=True)).split()) == tokens


def test_a_final_that_was_cut_is_reported() -> None:
    told: list[SpeechCut] = []
    transcriber = moonshine("English", told)
    transcriber.transcribe(window(is_final=False))
    assert told == []
    transcriber.transcribe(window(is_final=True))
    assert [one.sentence.partition(",")[0] for one in told] == [
        "the recogniser wrote more than 4.0 s of speech can hold"
    ]
