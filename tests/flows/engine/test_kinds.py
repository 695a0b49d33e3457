"""Models of every kind of memory through the whole product: the translations are re-translation's."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
import soundfile

from flows.engine.translation import open_engine
from flows.settings.schema import TranslateSettings
from operators.decoding.translator import SegmentState, Translator
from operators.errors import InputError
from tests.program import surtitle
from tests.tiny_kinds import OTHERS, write_kind

METHODS = ("ssbd", "recycle", "hybrid-jacobi")
TEXTS = {
    "a": ["the", "the weather", "the weather in", "the whether in the", "the weather in the hills is fine"],
    "b": ["good", "good day", "good day to", "good day two you", "good day to you all"],
    "c": ["we met", "we meet on", "we meet on Monday", "we meet on Monday at noon"],
}


def translate(translator: Translator) -> list[tuple[str, ...]]:
    """Updates of three segments in turn, with room for the sessions of two; each ends with a final."""
    states = {key: SegmentState() for key in TEXTS}
    outputs = []
    for number in range(6):
        for key, texts in TEXTS.items():
            is_final = number == len(texts)
            if number > len(texts):
                continue
            text = texts[-1] if is_final else texts[number]
            states[key], output = translator.update(key, states[key], text, is_final=is_final)
            assert output.trouble is None or not output.trouble.is_loss
            outputs.append(output.pieces)
    return outputs


@pytest.mark.parametrize("kind", ["mamba", "rwkv7", "lfm2", "qwen35"])
def test_every_method_gives_what_re_translation_gives_on_every_kind_of_memory(
    tmp_path: Path, kind: str
) -> None:
    path = write_kind(tmp_path / f"{kind}.gguf", kind)

    def settings(method: str) -> TranslateSettings:
        # Windows are short, so that a text has several; without a bias all that stands is the model's own.
        options = {"model": str(path), "method": method, "sessions": 2, "max_source": 16, "threads": 1}
        return msgspec.convert({**options, "bias": 0.0, "commit": 0}, TranslateSettings)

    engine = open_engine(settings("retranslate"))
    want = translate(engine.translator(settings("retranslate")))
    assert any(want)
    for method in METHODS:
        assert translate(engine.translator(settings(method))) == want, method


@pytest.mark.parametrize("kind", ["granitehybrid", "falcon-h1"])
def test_recorded_speech_is_captioned_with_the_default_settings(tmp_path: Path, kind: str) -> None:
    path = write_kind(tmp_path / f"{kind}.gguf", kind)
    partials = Path(__file__).parent.parent.parent / "samples" / "partials.jsonl"
    summary = tmp_path / "summary.json"
    done = surtitle("replay", partials, "--model", path, "--threads", 1, "--summary", summary)
    assert done.returncode == 0, done.stderr
    assert "failed_pass" not in summary.read_text()
    assert '"segments":2' in summary.read_text().replace(" ", "")


@pytest.mark.parametrize("kind", OTHERS)
def test_a_model_that_cannot_be_used_is_refused_by_name(tmp_path: Path, kind: str) -> None:
    path = write_kind(tmp_path / "other.gguf", kind)
    with pytest.raises(InputError, match=rf"other\.gguf: {kind} is an? "):
        open_engine(TranslateSettings(model=str(path)))


def test_a_model_that_cannot_be_used_is_refused_before_any_audio_is_taken(tmp_path: Path) -> None:
    path = write_kind(tmp_path / "other.gguf", "bert")
    audio = tmp_path / "silence.wav"
    soundfile.write(audio, np.zeros(16000), 16000)
    done = surtitle("file", audio, "--model", path, "--save-partials", tmp_path / "partials.jsonl")
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1] == (
        f"surtitle: {path}: bert is an embedding model that writes no text; "
        "use a decoder-only language model, such as an instruct model"
    )
