"""Moonshine models of other sizes and languages work by their folder."""

from pathlib import Path

import numpy as np
import pytest

from operators.decoding.forward import Forward
from operators.decoding.session import PrefixSession
from operators.recognizers.moonshine import BEGIN, MoonshineModel, moonshine_recognizer
from operators.recognizers.part import RecognizerSettings
from tests.operators.recognizers.moonshine.export import WORDS, write_export
from tests.operators.recognizers.moonshine.test_recognizer import finals
from tests.operators.recognizers.speaking import chunks, pcm, samples
from tests.operators.recognizers.test_protocol import hear


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_export(tmp_path_factory.mktemp("models") / "base")


def test_passes_over_what_is_held_say_what_one_pass_says(folder: Path) -> None:
    encoded = MoonshineModel(folder, 1).encode(samples("beckett.wav", 2.0))
    tokens = [BEGIN, *range(3, 15)]
    together = PrefixSession(encoded).forward(Forward(tokens, 0))
    session = PrefixSession(encoded.again())
    one_by_one = [session.forward(Forward(tokens[: end + 1], end))[0] for end in range(len(tokens))]
    np.testing.assert_allclose(one_by_one, together, atol=1e-4)
    session.forward(Forward([*tokens[:5], 30, 31], 4))
    np.testing.assert_allclose(session.forward(Forward(tokens, 5)), together[5:], atol=1e-4)


def test_it_is_recognised_with_by_its_folder(folder: Path) -> None:
    recognizer = moonshine_recognizer(RecognizerSettings(model=str(folder), certainty=0.0))
    heard = hear(recognizer, chunks(pcm("beckett.wav", 5.0)))
    assert len(finals(heard)) >= 2
    assert len(heard) > len(finals(heard))
    spoken = {word for one in heard for word in one.text.split()}
    assert spoken <= {word.removeprefix("▁") for word in WORDS}
    assert len(spoken) > 1
