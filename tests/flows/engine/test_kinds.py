"""Models of every kind of memory through the whole product: translations equal those of re-translation."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
import soundfile

from flows.engine.translation import open_engine
from flows.settings.translate import TranslateSettings
from operators.errors import InputError
from tests.flows.engine.segments import pieces_of
from tests.program import surtitle
from tests.tiny_kinds import OTHERS, write_kind

METHODS = ("ssbd", "recycle", "hybrid-jacobi")


@pytest.mark.parametrize("kind", ["mamba", "lfm2"])
def test_every_method_gives_what_re_translation_gives_on_every_kind_of_memory(
    tmp_path: Path, kind: str
) -> None:
    path = write_kind(tmp_path / f"{kind}.gguf", kind)

    def settings(method: str) -> TranslateSettings:
        # Windows are short, so that a text has several; without a bias all that stands is the model's own.
        options = {
            "to": "German",
            "model": str(path),
            "method": method,
            "sessions": 2,
            "max_source": 16,
            "threads": 1,
        }
        return msgspec.convert({**options, "bias": 0.0, "commit": 0}, TranslateSettings)

    engine = open_engine(settings("retranslate"))
    want = pieces_of(engine.translator(settings("retranslate")))
    assert any(any(made) for made in want.values())
    for method in METHODS:
        assert pieces_of(engine.translator(settings(method))) == want, method


@pytest.mark.parametrize("kind", OTHERS)
def test_a_model_that_cannot_be_used_is_refused_by_name(tmp_path: Path, kind: str) -> None:
    path = write_kind(tmp_path / "other.gguf", kind)
    with pytest.raises(InputError, match=rf"other\.gguf: {kind} is an? "):
        open_engine(TranslateSettings(to="German", model=str(path)))


def test_a_model_that_cannot_be_used_is_refused_before_any_audio_is_taken(tmp_path: Path) -> None:
    path = write_kind(tmp_path / "other.gguf", "bert")
    audio = tmp_path / "silence.wav"
    soundfile.write(audio, np.zeros(16000), 16000)
    done = surtitle("file", audio, "--model", path, "--set", f"output.partials={tmp_path / 'partials.jsonl'}")
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1] == (
        f"surtitle: {path}: bert is an embedding model that writes no text; "
        "use a decoder-only language model, such as an instruct model"
    )
