"""Moonshine models of other sizes and languages work by their folder."""

from functools import cache
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from operators.decoding.forward import Forward
from operators.decoding.session import PrefixSession
from operators.decoding.speech import SpeechMethod
from operators.recognizers.moonshine import (
    BEGIN,
    MoonshineModel,
    MoonshineRecognizer,
    bundled_model,
    moonshine_recognizer,
)
from operators.recognizers.part import RecognizerSettings
from operators.recognizers.windowed import Window
from tests.operators.recognizers.moonshine.export import LAYERS, WORDS, write_export
from tests.operators.recognizers.moonshine.test_recognizer import finals, hear
from tests.operators.recognizers.speaking import chunks, pcm, samples

SCRATCH, DRAFTED = SpeechMethod(use_draft=False), SpeechMethod(bias=0.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_export(tmp_path_factory.mktemp("models") / "base")


@cache
def model(folder: Path) -> MoonshineModel:
    return MoonshineModel(folder, 1)


def names(path: Path) -> tuple[set[str], set[str]]:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return {one.name for one in session.get_inputs()}, {one.name for one in session.get_outputs()}


def test_the_stand_in_has_the_names_of_the_real_export_and_more_layers(folder: Path) -> None:
    of_real = names(bundled_model() / "decoder_model_merged.ort")
    of_ours = names(folder / "decoder_model_merged.onnx")
    assert of_real[0] - of_ours[0] == {"encoder_attention_mask"}
    assert of_real[1] < of_ours[1]
    assert len(of_ours[1]) == 1 + 4 * LAYERS


def test_passes_over_what_is_held_say_what_one_pass_says(folder: Path) -> None:
    encoded = model(folder).encode(samples("beckett.wav", 2.0))
    tokens = [BEGIN, *range(3, 15)]
    together = PrefixSession(encoded).forward(Forward(tokens, 0))
    session = PrefixSession(encoded.again())
    one_by_one = [session.forward(Forward(tokens[: end + 1], end))[0] for end in range(len(tokens))]
    np.testing.assert_allclose(one_by_one, together, atol=1e-4)
    session.forward(Forward([*tokens[:5], 30, 31], 4))
    np.testing.assert_allclose(session.forward(Forward(tokens, 5)), together[5:], atol=1e-4)


def test_a_draft_changes_nothing_that_is_heard(folder: Path) -> None:
    draft: tuple[int, ...] = ()
    for seconds in (1.0, 1.5, 2.0, 2.5, 3.0):
        audio = samples("beckett.wav", seconds)
        encoded = model(folder).encode(audio)
        window = Window(0, 0, len(audio), audio, is_final=seconds == 3.0)
        recognizer = MoonshineRecognizer(model(folder))
        want, got = (
            recognizer.decode(method, encoded.again(), draft, window, 2) for method in (SCRATCH, DRAFTED)
        )
        assert got.tokens == want.tokens
        draft = got.tokens
    assert len(draft) > 3


def test_it_is_recognised_with_by_its_folder(folder: Path) -> None:
    heard = hear(
        chunks(pcm("beckett.wav", 5.0)),
        moonshine_recognizer(RecognizerSettings(model=str(folder), certainty=0.0)),
    )
    assert len(finals(heard)) >= 2
    assert len(heard) > len(finals(heard))
    spoken = {word for one in heard for word in one.text.split()}
    assert spoken <= {word.removeprefix("▁") for word in WORDS}
    assert len(spoken) > 1
