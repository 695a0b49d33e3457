"""A model of voices of the user's: sherpa-onnx itself runs it, and files that are none are refused."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from operators.errors import InputError, UsageError
from operators.voices.onnx_file import OnnxEncoder
from tests.tiny_voices import SIZE, voice, write_nemo, write_wespeaker
from tests.tiny_zipformer import written_once


@pytest.mark.parametrize("write", [write_wespeaker, write_nemo])
def test_stretches_of_one_voice_are_nearer_to_each_other_than_to_another(
    write: Callable[[Path], Path], tmp_path: Path
) -> None:
    encoder = OnnxEncoder(write(tmp_path / "voices.onnx"))
    first, again, other = (encoder.embed(voice(*one)) for one in ((300, 2.0), (300, 1.3), (1500, 2.0)))
    assert encoder.size == SIZE
    assert (first.shape, first.dtype.name) == ((SIZE,), "float32")
    assert [float(np.linalg.norm(one)) for one in (first, again, other)] == pytest.approx([1.0] * 3)
    assert first @ again > first @ other + 0.05
    assert np.isfinite(encoder.embed(np.zeros(32_000, np.float32))).all()
    assert encoder.embed(voice(300, 0.001)).tolist() == [0.0] * SIZE


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (lambda file: file.write_text("no"), r"voices.onnx: the model of voices cannot be loaded \(.+\)"),
        (lambda file: file.write_bytes(b""), r"cannot be loaded \(.+\); name an ONNX file of those that"),
        (lambda file: write_wespeaker(file, framework=None), r"cannot be loaded \(.+\)"),
        (lambda file: write_wespeaker(file, framework="mine"), r"\(Unknown model type for speaker"),
        (lambda file: write_wespeaker(file, output_dim=None), r"cannot be loaded \(.*output_dim.*\)"),
        (lambda file: file.symlink_to(written_once() / "joiner.int8.onnx"), r"cannot be loaded \(.+\)"),
        (lambda _file: None, "voices.onnx: there is no such file; check its name"),
    ],
)  # fmt: skip
def test_what_is_no_model_of_voices_is_refused_in_one_sentence(
    write: Callable[[Path], object], said: str, tmp_path: Path
) -> None:
    write(tmp_path / "voices.onnx")
    with pytest.raises(InputError, match=said):
        OnnxEncoder(tmp_path / "voices.onnx")


def test_the_extra_is_named_where_it_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("operators.extras.find_spec", lambda name: None if name == "sherpa_onnx" else True)
    with pytest.raises(
        UsageError, match=r"voices.onnx needs the package sherpa_onnx; install it with: .*sherpa"
    ):
        OnnxEncoder(write_wespeaker(tmp_path / "voices.onnx"))
