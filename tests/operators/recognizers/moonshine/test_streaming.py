"""Moonshine's streaming models hear each stretch of sound once, and the same as all at once."""

from pathlib import Path

import numpy as np
import pytest

from operators.decoding.forward import Forward
from operators.decoding.session import PrefixSession
from operators.errors import InputError
from operators.models.moonshine_streaming import Heard, StreamingModel
from operators.recognizers.moonshine import BEGIN, moonshine_recognizer
from operators.recognizers.part import RecognizerSettings
from operators.recognizers.segmenter import Samples
from tests.operators.recognizers.moonshine.export import write_streaming_export
from tests.operators.recognizers.moonshine.test_recognizer import finals
from tests.operators.recognizers.speaking import chunks, pcm, samples
from tests.operators.recognizers.test_protocol import hear

TOKENS = [BEGIN, *range(3, 15)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_streaming_export(tmp_path_factory.mktemp("models") / "small-streaming")


def test_a_window_that_grows_is_heard_as_if_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, audio = StreamingModel(folder, 1, None), samples("beckett.wav", 4.0)
    given: list[int] = []
    hears = model._hear

    def counted(heard: Heard, new: Samples) -> Heard:
        given.append(len(new) - len(heard.samples))
        return hears(heard, new)

    monkeypatch.setattr(model, "_hear", counted)
    earlier: Heard | None = None
    for end in (700, 9_000, 9_001, 31_000, 31_360, len(audio)):
        window = model.encode(audio[:end], earlier)
        earlier = window.heard
        at_once = model.encode(audio[:end])
        grown, whole = (PrefixSession(one).forward(Forward(TOKENS, 0)) for one in (window, at_once))
        np.testing.assert_allclose(grown, whole, atol=1e-4)
    # Another window begins anew.
    other = PrefixSession(model.encode(audio[5000:9000], earlier)).forward(Forward(TOKENS, 0))
    anew = PrefixSession(model.encode(audio[5000:9000])).forward(Forward(TOKENS, 0))
    np.testing.assert_array_equal(other, anew)
    given.clear()
    model.encode(audio, earlier)
    assert sum(given) < 1280, "only what is no multiple is heard again"


def test_passes_over_what_is_held_say_what_one_pass_says(folder: Path) -> None:
    window = StreamingModel(folder, 1, None).encode(samples("beckett.wav", 2.0))
    together = PrefixSession(window).forward(Forward(TOKENS, 0))
    session = PrefixSession(window.again())
    one_by_one = [session.forward(Forward(TOKENS[: end + 1], end))[0] for end in range(len(TOKENS))]
    np.testing.assert_allclose(one_by_one, together, atol=1e-4)
    session.forward(Forward([*TOKENS[:5], 30, 31], 4))
    np.testing.assert_allclose(session.forward(Forward(TOKENS, 5)), together[5:], atol=1e-4)


def test_it_is_recognised_with_by_its_folder(folder: Path) -> None:
    heard = hear(
        moonshine_recognizer(RecognizerSettings(model=str(folder), certainty=0.0)),
        chunks(pcm("beckett.wav", 5.0)),
    )
    assert len(finals(heard)) >= 2
    assert len(heard) > len(finals(heard))


@pytest.mark.parametrize(
    ("missing", "said"),
    [("adapter.onnx", r"no adapter\.ort and no adapter\.onnx"), ("tokenizer.json", "no tokenizer")],
)
def test_a_file_that_is_missing_is_named(missing: str, said: str, tmp_path: Path) -> None:
    folder = write_streaming_export(tmp_path / "model")
    (folder / missing).unlink()
    with pytest.raises(InputError, match=said):
        moonshine_recognizer(RecognizerSettings(model=str(folder)))
