"""Whisper's graphs compute what CTranslate2 computes, whatever passes the tokens come in."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from operators.recognizers.whisper.model import Encoded, WhisperModel, log_mel

from operators.decoding.drive import drive
from operators.decoding.forward import Logits, Task
from operators.decoding.session import PrefixSession
from operators.decoding.ssbd import retranslate
from operators.errors import InputError
from tests.near_ties import agree
from tests.operators.recognizers.speaking import samples
from tests.operators.recognizers.whisper.model_folder import (
    TINY_EN,
    copy_of_tiny_en,
    exact_tiny_en,
    model_file,
    tiny_en,
)

RATE = 16_000


def test_features_are_the_definition_computed_the_long_way() -> None:
    noise = np.random.default_rng(1).standard_normal(1600).astype(np.float32) * 0.1
    padded = np.concatenate((noise[200:0:-1], noise, noise[-2:-202:-1])).astype(np.float64)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400)
    wave = np.exp(-2j * np.pi * np.outer(np.arange(201), np.arange(400)) / 400)
    power = np.stack([np.abs(wave @ (window * padded[at : at + 400])) ** 2 for at in range(0, 1600, 160)])
    expected = np.zeros((80, 10))
    corners = [_hz(mel) for mel in np.linspace(0, 15 + 27 * np.log(8) / np.log(6.4), 82)]
    for band, (low, peak, high) in enumerate(zip(corners, corners[1:], corners[2:], strict=False)):
        for number, hz in enumerate(np.arange(201) * 40.0):
            weight = min((hz - low) / (peak - low), (high - hz) / (high - peak))
            if weight > 0:
                expected[band] += weight * 2 / (high - low) * power[:, number]
    logs = np.log10(np.maximum(expected, 1e-10))

    assert log_mel(noise, 80) == pytest.approx((np.maximum(logs, logs.max() - 8) + 4) / 4, abs=1e-4)


def test_silence_has_features_too() -> None:
    features = log_mel(np.zeros(RATE, np.float32), 128)

    assert features.shape == (128, 100)
    assert np.isfinite(features).all()


def _hz(mel: float) -> float:
    return float(mel * 1000 / 15 if mel < 15 else 1000 * 6.4 ** ((mel - 15) / 27))


PROMPT = [50257, 50362]
END = 50256
# "Ever tried, ever failed. No matter. Try again."
SAID_BY_CTRANSLATE2 = [10776, 3088, 11, 1683, 4054, 13, 1400, 2300, 13, 9993, 757, 13]


def greedy(encoded: Encoded) -> list[int]:
    task = Task(prompt=PROMPT, draft=(), stop={END}, limit=100)
    return list(drive(retranslate(task), PrefixSession(encoded))[0].tokens)


@pytest.mark.long
def test_in_float32_it_says_what_ctranslate2_says() -> None:
    # Given 30 s of features, the recording followed by silence, CTranslate2 4.8.5 says so in float32 with
    # beam_size=1.
    audio = samples("beckett.wav", 6.0)
    whole = np.pad(audio, (0, 28 * 16_000 - len(audio)))

    assert greedy(exact_tiny_en().encode(whole, PROMPT)) == SAID_BY_CTRANSLATE2


def test_in_8_bits_and_with_silence_encoded_once_it_hears_the_same_words() -> None:
    model = tiny_en()
    said, wanted = greedy(model.encode(samples("beckett.wav", 6.0), PROMPT)), SAID_BY_CTRANSLATE2
    texts = [model.files.vocabulary.text(tokens) for tokens in (said, wanted)]

    # A comma or a full stop: they are as good as equally probable. The words are not.
    assert re.findall(r"\w+", texts[0].lower()) == re.findall(r"\w+", texts[1].lower())


def are_equal(got: Logits, want: Logits) -> bool:
    finite = np.isfinite(want)
    return bool(np.abs(got[finite] - want[finite]).max() < 1e-3)


@pytest.mark.parametrize(
    ("make", "are_same"), [pytest.param(exact_tiny_en, are_equal, marks=pytest.mark.long), (tiny_en, agree)]
)
def test_logits_do_not_depend_on_the_passes_that_tokens_come_in(
    make: Callable[[], WhisperModel], are_same: Callable[[Logits, Logits], bool]
) -> None:
    model = make()
    tokens = [*PROMPT, *SAID_BY_CTRANSLATE2]
    audio = samples("beckett.wav", 3.0)
    at_once = model.encode(audio, PROMPT).evaluate(tokens, 0, len(tokens)).copy()
    encoded = model.encode(audio, PROMPT)
    singly = np.concatenate([encoded.evaluate([token], at, 1) for at, token in enumerate(tokens)])
    encoded.cut(5)
    after_cut = encoded.evaluate(tokens[5:], 5, len(tokens) - 5)

    assert (np.isfinite(at_once) == np.isfinite(singly)).all()
    assert are_same(singly, at_once)
    assert are_same(after_cut, at_once[5:])


def test_a_prompt_that_is_asked_again_says_the_very_same() -> None:
    encoded = tiny_en().encode(samples("beckett.wav", 2.0), PROMPT)
    before = encoded.evaluate(PROMPT, 0, 1).copy()
    after = encoded.evaluate([10776, 3088], 2, 2).copy()
    encoded.cut(1)

    assert np.array_equal(encoded.evaluate(PROMPT[1:], 1, 1), before)
    assert np.array_equal(encoded.evaluate([10776, 3088], 2, 2), after)


def test_what_greedy_decoding_never_takes_is_impossible() -> None:
    encoded = tiny_en().encode(samples("beckett.wav", 2.0), PROMPT)
    rows = encoded.evaluate([*PROMPT, 843], 0, 2)

    assert np.isneginf(rows[:, [1, 50257, 50362, 50363, 51863]]).all(), "suppressed tokens and marks"
    assert np.isneginf(rows[0, [220, END]]).all(), "a transcript does not begin with its end"
    assert np.isfinite(rows[1, [220, END]]).all()


def test_it_knows_when_nobody_speaks() -> None:
    model = tiny_en()
    speech, silence = (
        model.encode(audio, PROMPT) for audio in (samples("beckett.wav", 3.0), np.zeros(48_000, np.float32))
    )
    for encoded in (speech, silence):
        encoded.evaluate(PROMPT, 0, 1)

    assert speech.no_speech < 0.5 < silence.no_speech


def test_a_folder_that_is_no_model_is_refused_with_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        WhisperModel(tmp_path / "model", 1)
    with pytest.raises(InputError, match=r"holds no model\.bin, config\.json, vocabulary\.json; name"):
        WhisperModel(tmp_path, 1)


def test_files_that_are_broken_are_refused(tmp_path: Path) -> None:
    cut = (TINY_EN / "model.bin").read_bytes()[:1_000_000]
    with pytest.raises(InputError, match=r"model\.bin: this is not a complete.*cut off"):
        WhisperModel(copy_of_tiny_en(tmp_path / "cut", model=cut), 1)
    with pytest.raises(InputError, match=r"config\.json: this is not the configuration"):
        WhisperModel(copy_of_tiny_en(tmp_path / "config", config=b"[]"), 1)
    with pytest.raises(InputError, match="the model has no decoder/embeddings/weight"):
        WhisperModel(copy_of_tiny_en(tmp_path / "empty", model=model_file({})), 1)
    lines = (TINY_EN / "vocabulary.txt").read_bytes() + b"more\n"
    with pytest.raises(InputError, match="its vocabulary has 51865 tokens, and the model 51864"):
        WhisperModel(copy_of_tiny_en(tmp_path / "vocabulary", vocabulary=lines), 1)


def test_weights_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    odd = {
        "decoder/embeddings/weight": np.zeros((51864, 6), np.float16),
        "encoder/conv1/weight": np.zeros((6, 80, 3), np.float16),
        "decoder/position_encodings/encodings": np.zeros((448, 6), np.float16),
        "decoder/num_heads": np.array(4, np.int16),
        "encoder/num_heads": np.array(4, np.int16),
        "encoder/layer_0/ffn/linear_0/weight": np.zeros((24, 6), np.float16),
        "decoder/layer_0/ffn/linear_0/weight": np.zeros((24, 6), np.float16),
    }
    with pytest.raises(InputError, match="do not form a Whisper model"):
        WhisperModel(copy_of_tiny_en(tmp_path / "odd", model=model_file(odd)), 1)
    odd |= {"decoder/num_heads": np.array(2, np.int16), "encoder/num_heads": np.array(2, np.int16)}
    with pytest.raises(InputError, match="the model has no encoder/conv1/bias"):
        WhisperModel(copy_of_tiny_en(tmp_path / "odder", model=model_file(odd)), 1)
