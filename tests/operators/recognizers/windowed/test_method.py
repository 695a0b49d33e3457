"""How windows of speech are decoded: what is shown of them, where they end early, and where they are cut."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from operators.decoding.forward import Logits
from operators.decoding.speech import SpeechMethod, WindowResult, doubt_of, steady_text
from operators.events import SAMPLE_RATE
from operators.languages import language
from operators.notifications import RecognizerChanged, SpeechCut
from operators.recognizers.moonshine import (
    END,
    MoonshineModel,
    MoonshineTranscriber,
    Tokenizer,
    bundled_model,
    load_model,
)
from operators.recognizers.part import RecognizerSettings, unobserved
from operators.recognizers.segmenter import Window
from tests.operators.recognizers.speaking import voiced

SAID = [b" I", b" have", b" a", b" dr", b"eam", b"."]


@pytest.mark.parametrize(
    ("probabilities", "least", "shown", "text"),
    [
        ([1.0] * 6, 0.0, "", "I have a dream"),  # closing punctuation of unfinished text is never heard
        ([1, 1, 1, 0.9, 0.2, 1], 0.7, "", "I have a"),
        ([1, 1, 1, 1, 1, 0.1], 0.7, "", "I have a dream"),  # punctuation makes no word doubtful
        ([1, 0.1, 1, 1, 1, 1], 0.7, "", "I have a dream"),  # only the end is unfinished
        ([1, 1, 0.5, 0.4, 0.9, 1], 0.7, "", "I have"),
        ([1, 1, 0.5, 0.4, 0.9, 1], 0.7, "I have a", "I have a"),  # what was shown is not taken back
        ([1, 1, 0.5, 0.4, 0.9, 1], 0.7, "I have a dre", "I have"),  # a word is not half said
        ([1, 1, 0.5, 0.4, 0.9, 1], 0.7, "I had a dream", "I have"),
    ],
)
def test_doubtful_words_at_the_end_are_held_back(
    probabilities: list[float], least: float, shown: str, text: str
) -> None:
    assert steady_text(SAID, probabilities.__getitem__, least, shown=shown) == text


def test_where_no_spaces_part_words_tokens_are_held_back_one_by_one() -> None:
    pieces = [character.encode() for character in "今日はいい天気"]
    assert steady_text(pieces, ([1.0] * 6 + [0.1]).__getitem__, 0.7) == "今日はいい天"


PIECE = st.sampled_from([b" a", b"b", b".", b" ", "é".encode()[:1], "日".encode(), b"\xff"])


@given(st.lists(st.tuples(PIECE, st.floats(0, 1)), max_size=9))
def test_any_tokens_give_a_beginning_of_their_text(said: list[tuple[bytes, float]]) -> None:
    pieces = [piece for piece, _ in said]
    text = steady_text(pieces, [probability for _, probability in said].__getitem__, 0.5)
    assert steady_text(pieces, lambda _token: 1.0, 0.0).startswith(text)


def test_a_window_may_end_behind_the_words_of_the_last_hypothesis() -> None:
    method = SpeechMethod(stop_below=0.7)
    pieces = {1: b" the", 2: b" Guggen", 3: b"berg", 4: b".", 5: b" Bible"}.__getitem__
    doubt = doubt_of(method, (1, 2, 3, 4), 0, pieces)
    assert doubt is not None
    assert (doubt.least, doubt.begin) == (0.7, 3), "a full stop is no word of the last hypothesis"
    assert [doubt.counts(token) for token in (3, 4, 5)] == [True, False, True]
    assert doubt_of(method, (4,), 1, pieces) is not None
    # It is decoded to its end where words were left out twice before.
    assert doubt_of(method, (1,), 2, pieces) is None
    assert doubt_of(SpeechMethod(), (1,), 0, pieces) is None


class Compared(MoonshineTranscriber):
    """Decodes each window to its end as well."""

    def __init__(self, model: MoonshineModel) -> None:
        super().__init__(model)
        self.pairs: list[tuple[WindowResult, WindowResult]] = []

    @override
    def decode(
        self, method: SpeechMethod, encoded: Any, draft: tuple[int, ...], window: Window, stopped: int
    ) -> WindowResult:
        to_its_end = super().decode(method, encoded.again(), draft, window, 2)
        self.pairs.append((super().decode(method, encoded, draft, window, stopped), to_its_end))
        return self.pairs[-1][0]


@pytest.mark.parametrize("name", ["two_cities.wav", "beckett.wav"])
def test_speech_that_ends_early_is_the_beginning_of_what_it_would_have_been(name: str) -> None:
    transcriber = Compared(load_model(str(bundled_model().absolute()), 2))
    heard = voiced(name, 8)
    for window in heard:
        transcriber.transcribe(window)
    for window, (got, whole) in zip(heard, transcriber.pairs, strict=True):
        # What repeats itself is cut behind the first time, where an early end may come in the second.
        assert got.tokens == (whole.tokens * 2)[: len(got.tokens)]
        assert got.is_whole or not window.is_final
    assert not all(got.is_whole for got, _ in transcriber.pairs)


Event = RecognizerChanged | SpeechCut


class Scripted:
    """A model that says the same whatever it hears.

    Args:
        token: The token at each position.
        logit: Its logit; those of the 299 others are 0.
    """

    tokenizer = Tokenizer([f" word{number}".encode() for number in range(300)])
    heard = None

    def __init__(self, token: Callable[[int], int], logit: float = 20.0) -> None:
        self._token, self._logit = token, logit

    def encode(self, _samples: object, *_prompt: object) -> "Scripted":
        return self

    def cut(self, length: int) -> int:
        return length

    def evaluate(self, tokens: Sequence[int], start: int, rows: int) -> Logits:
        end = start + len(tokens)
        logits = np.zeros((rows, 300), np.float32)
        for row, place in enumerate(range(end - rows, end)):
            logits[row, self._token(place)] = self._logit
        return logits


def moonshine(
    model: Scripted, spoken: str | None = None, told: list[Event] | None = None, certainty: float = 0.7
) -> MoonshineTranscriber:
    tongue = None if spoken is None else language(spoken)
    observe = unobserved if told is None else told.append
    settings = RecognizerSettings(certainty=certainty)
    recognizer = MoonshineTranscriber(cast(MoonshineModel, model), settings, tongue, observe)
    recognizer.method = SpeechMethod(use_draft=False)
    return recognizer


def window(*, is_final: bool = True, seconds: float = 4.0) -> Window:
    samples = np.zeros(round(seconds * SAMPLE_RATE), np.float32)
    return Window(0, 0, len(samples), samples, is_final)


@pytest.mark.parametrize(("spoken", "tokens"), [(None, 33), ("English", 33), ("Korean", 59)])
def test_a_text_is_cut_where_its_language_needs_no_more_and_of_finals_that_is_told(
    spoken: str | None, tokens: int
) -> None:
    for is_final in (False, True):
        told: list[Event] = []
        transcriber = moonshine(Scripted(lambda place: 10 + place), spoken, told)
        text = transcriber.transcribe(window(is_final=is_final))
        assert len(told) == is_final
    assert len((text or "").split()) == tokens
    assert told[0].sentence.startswith("the recogniser wrote more text than 4.0 s of speech can contain")


@pytest.mark.parametrize(("seconds", "words"), [(1.6, 7), (4.0, 14)])
def test_what_comes_twice_was_said_once_where_there_was_no_time_for_both(seconds: float, words: int) -> None:
    transcriber = moonshine(Scripted(lambda place: 10 + place % 7 if place < 14 else END), certainty=0.0)
    assert len((transcriber.transcribe(window(seconds=seconds)) or "").split()) == words


@pytest.mark.parametrize(
    ("tokens", "probability", "spoken", "is_shown"),
    [
        (8, 0.42, "English", True),
        (8, 0.40, "English", False),
        (8, 0.40, "Korean", True),  # not measured
        (7, 0.30, "English", True),
        (7, 0.28, "English", False),
    ],
)
def test_a_final_that_the_model_itself_doubts_is_left_out(
    tokens: int, probability: float, spoken: str, *, is_shown: bool
) -> None:
    logit = float(np.log(probability / (1 - probability) * 299))
    transcriber = moonshine(Scripted(lambda place: 10 + place if place < tokens else END, logit), spoken)
    assert transcriber.transcribe(window(is_final=False)) is not None, "the next window says more"
    assert (transcriber.transcribe(window()) is not None) == is_shown
