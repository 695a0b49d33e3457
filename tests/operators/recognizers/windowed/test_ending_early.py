"""Windows of unfinished speech end early with words that would not be shown, and hide none for long."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from typing_extensions import override

from operators.decoding.drive import Cost
from operators.recognizers.moonshine.model import MoonshineModel, load_model
from operators.recognizers.moonshine.recognizer import MoonshineTranscriber, bundled_model
from operators.recognizers.windowed.method import DraftingTranscriber, SpeechMethod, WindowResult, doubt_of
from operators.recognizers.windowed.segmenter import Samples, Segmenter, Window, silero
from tests.operators.recognizers.speaking import pcm

PIECES = {1: b" the", 2: b" Guggen", 3: b"berg", 4: b".", 5: b" Bible"}
METHOD = SpeechMethod(stop_below=0.7)


def windows(name: str, seconds: float) -> list[Window]:
    audio = np.frombuffer(pcm(name, seconds), "<i2").astype(np.float32) / 32768.0
    segmenter = Segmenter(silero(), 0.5)
    return [*segmenter.accept(audio), *segmenter.finish()]


def test_a_window_may_end_behind_the_words_of_the_last_hypothesis() -> None:
    doubt = doubt_of(METHOD, (1, 2, 3, 4), 0, PIECES.__getitem__)
    assert doubt is not None
    assert (doubt.least, doubt.begin) == (0.7, 3), "a full stop is no word of the last hypothesis"
    assert [doubt.counts(token) for token in (3, 4, 5)] == [True, False, True]


def test_an_utterance_goes_on_after_its_first_token() -> None:
    for draft in ((), (4,), (1,)):
        doubt = doubt_of(METHOD, draft, 0, PIECES.__getitem__)
        assert doubt is not None
        assert doubt.begin == 1


def test_a_window_is_decoded_to_its_end_where_words_were_left_out_twice_before() -> None:
    assert doubt_of(METHOD, (1,), 1, PIECES.__getitem__) is not None
    assert doubt_of(METHOD, (1,), 2, PIECES.__getitem__) is None
    assert doubt_of(SpeechMethod(), (1,), 0, PIECES.__getitem__) is None


class Doubtful(DraftingTranscriber):
    """Hears two words more in each window, and doubts the first of them wherever it may."""

    def __init__(self) -> None:
        super().__init__(METHOD, certainty=0.7)
        self.heard = 0

    @override
    def encode(self, samples: Samples) -> None:
        return None

    @override
    def decode(
        self, method: SpeechMethod, encoded: None, draft: tuple[int, ...], window: Window, stopped: int
    ) -> WindowResult:
        self.heard += 2
        may_end = not window.is_final and doubt_of(METHOD, draft, stopped, lambda _token: b"a") is not None
        tokens = range(len(draft) + 1 if may_end else self.heard)
        # All but the name in the middle of it is certain as soon as more is heard.
        return WindowResult(tuple(tokens), lambda place: 1.0 - (place == len(draft)), Cost(), not may_end)

    @override
    def piece(self, token: int) -> bytes:
        return f" {token}".encode()

    @override
    def text(self, tokens: Sequence[int]) -> str:
        return b"".join(map(self.piece, tokens)).decode().strip()


def test_what_follows_words_that_stay_doubtful_is_hidden_for_two_updates_at_most() -> None:
    transcriber = Doubtful()
    silence = np.zeros(16_000, np.float32)
    behind = []
    for _update in range(12):
        transcriber.transcribe(Window(segment=0, start=0, samples=silence, end=16_000, is_final=False))
        behind.append(transcriber.heard - len(transcriber._draft))
    assert behind == [1, 2, 0] * 4


class Compared(MoonshineTranscriber):
    """Decodes each window to its end as well."""

    def __init__(self, model: MoonshineModel) -> None:
        super().__init__(model, METHOD)
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
    heard = windows(name, 8)
    for window in heard:
        transcriber.transcribe(window)
    for window, (got, whole) in zip(heard, transcriber.pairs, strict=True):
        assert got.tokens == whole.tokens[: len(got.tokens)]
        assert got.is_whole or not window.is_final
    assert not all(got.is_whole for got, _ in transcriber.pairs)
