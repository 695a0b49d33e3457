"""Whisper as a recogniser: what it says of speech, of pauses, and when it fails."""

from functools import cache
from itertools import pairwise
from typing import NoReturn

import numpy as np
import pytest
from operators.recognizers.whisper.model import Encoded, WhisperModel
from operators.recognizers.whisper.recognizer import (
    WhisperRecognizer,
    compression,
    decode,
    whisper_recognizer,
)

from operators.decoding.session import PrefixSession
from operators.decoding.speech import SpeechMethod, WindowResult, mean_log_probability
from operators.model_errors import ErrorKind, ModelError
from operators.recognizers.part import RecognizerSettings
from operators.recognizers.windowed import Samples, Window
from tests.near_ties import NOISE, gap_where_they_part
from tests.operators.recognizers.speaking import chunks, pcm, samples, silence, windows
from tests.operators.recognizers.test_protocol import by_segment, hear
from tests.operators.recognizers.whisper.model_folder import TINY_EN, exact_tiny_en, tiny_en

PROMPT = [50257, 50362]
SCRATCH = SpeechMethod(use_draft=False)
EXACT, BIASED = SpeechMethod(bias=0.0), SpeechMethod(bias=0.2)


@cache
def encoded() -> list[Encoded]:
    """Speech as it grows; in float32, where passes of any size compute the same."""
    return [exact_tiny_en().encode(window, PROMPT) for window in windows(samples("beckett.wav", 4.5))]


@cache
def heard(method: SpeechMethod) -> list[WindowResult]:
    made: list[WindowResult] = []
    for number, window in enumerate(encoded()):
        draft = made[-1].tokens if made else ()
        made.append(decode(method, window, draft, is_final=number == len(encoded()) - 1))
    return made


@pytest.mark.long
def test_without_bias_a_draft_changes_nothing_that_is_heard() -> None:
    assert [one.tokens for one in heard(EXACT)] == [one.tokens for one in heard(SCRATCH)]


@pytest.mark.long
def test_any_draft_leads_a_final_to_the_same_words() -> None:
    last, wanted = encoded()[-1], heard(SCRATCH)[-1].tokens
    for draft in (wanted, wanted[:5], (*wanted, 843, 523), (464, 3290), wanted[3:], (843,) * 40):
        assert decode(BIASED, last, draft, is_final=True).tokens == wanted


def test_in_8_bits_too_a_final_is_greedy_decodings() -> None:
    last = tiny_en().encode(samples("beckett.wav", 6.0), PROMPT)
    wanted = decode(SCRATCH, last.again(), (), is_final=True).tokens

    for draft in (wanted, wanted[:5], (*wanted, 843, 523), (464, 3290)):
        got = decode(BIASED, last.again(), draft, is_final=True).tokens
        assert gap_where_they_part(PrefixSession(last.again()), PROMPT, wanted, got) < NOISE


def test_a_draft_saves_passes_and_bias_saves_revisions() -> None:
    partials = {method: heard(method)[:-1] for method in (SCRATCH, EXACT, BIASED)}
    passes = {method: sum(one.cost.passes for one in partials[method]) for method in partials}

    assert passes[EXACT] < passes[SCRATCH]
    assert passes[BIASED] < passes[SCRATCH]
    assert revisions(partials[BIASED]) <= revisions(partials[EXACT])


def test_what_is_right_already_takes_one_pass() -> None:
    again = decode(EXACT, encoded()[-1], heard(SCRATCH)[-1].tokens, is_final=False)

    assert again.cost.passes == 1


def test_what_goes_round_in_circles_is_cut_and_not_believed() -> None:
    words = "and then he said that he would come and "

    assert compression(words) < 2.4 < compression(words * 12)


def test_a_transcript_that_reaches_its_limit_is_known_as_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not heard(SCRATCH)[-1].is_cut
    monkeypatch.setattr("operators.recognizers.whisper.recognizer._limit", lambda _speech_s: 3)
    assert decode(SCRATCH, encoded()[-1], (), is_final=True).is_cut


def test_noise_is_not_taken_for_speech() -> None:
    noise = np.random.default_rng(3).standard_normal(32_000).astype(np.float32) * 0.01
    said = decode(BIASED, tiny_en().encode(noise, PROMPT), (), is_final=True)

    assert not said.is_credible


def test_how_probable_a_transcript_is_tells_it_from_another() -> None:
    said = heard(SCRATCH)[-1]
    right = [said.probability(place) for place in range(len(said.tokens))]

    assert mean_log_probability(right) > -0.8
    assert mean_log_probability([*right, 0.0, 0.0]) < -3
    assert mean_log_probability([]) == 0.0


def revisions(updates: list[WindowResult]) -> int:
    """Updates that take back something of the one before."""
    texts = [tiny_en().files.vocabulary.text(one.tokens) for one in updates]
    return sum(not later.startswith(before) for before, later in pairwise(texts))


def failing(*_given: object) -> NoReturn:
    raise ModelError(ErrorKind.FAILED_PASS, "the speech model failed: out of memory")


SPEECH = silence(0.5) + pcm("beckett.wav", 3.0) + silence(1.0)


def test_nothing_is_said_again_after_a_pause() -> None:
    heard = hear(
        whisper_recognizer(RecognizerSettings(model=str(TINY_EN))), chunks(SPEECH + silence(8.0) + SPEECH)
    )
    finals = [one for one in heard if one.is_final]
    pause_begins, pause_ends = 4.5, 12.5

    assert len(finals) >= 2
    assert not [one for one in heard if pause_begins + 0.5 < one.end_s < pause_ends]
    assert by_segment(heard)[finals[-1].segment][0].start_s > pause_ends


def test_an_utterance_whose_final_fails_leaves_nothing_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    transcriber = WhisperRecognizer(tiny_en(), [50257, 50362])
    speech = samples("beckett.wav", 2.0)
    noise = np.random.default_rng(3).standard_normal(32_000).astype(np.float32) * 0.01
    shown = transcriber.transcribe(window(0, speech))
    assert shown is not None
    assert shown.startswith("Ever tried")
    assert transcriber.transcribe(window(0, noise)) == shown, "the model is at a loss"
    with monkeypatch.context() as patch:
        patch.setattr(WhisperModel, "encode", failing)
        with pytest.raises(ModelError):
            transcriber.transcribe(window(0, speech, is_final=True))

    assert transcriber.transcribe(window(1, noise)) == ""


def window(segment: int, audio: Samples, *, is_final: bool = False) -> Window:
    return Window(segment=segment, start=0, samples=audio, end=len(audio), is_final=is_final)
