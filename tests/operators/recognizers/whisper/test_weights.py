"""Files of weights: every number type that CTranslate2 writes is read, and what is broken is refused."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from operators.recognizers.whisper.weights import Weights

from operators.errors import InputError
from tests.operators.recognizers.whisper.model_folder import model_file

VALUES = np.array([[1.5, -0.25, 3.0], [0.0, 1.0, -8.0]], np.float32)
WHOLE = model_file({"a/weight": VALUES, "heads": np.array(6, np.int16)}, {"b/weight": "a/weight"})


def read(tmp_path: Path, data: bytes) -> Weights:
    path = tmp_path / "model.bin"
    path.write_bytes(data)
    return Weights(path)


def test_variables_and_their_aliases_are_read(tmp_path: Path) -> None:
    weights = read(tmp_path, WHOLE)

    assert weights.floats("a/weight").tolist() == VALUES.tolist()
    assert weights.floats("b/weight").tolist() == VALUES.tolist()
    assert weights.number("heads") == 6
    assert "c" not in weights


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_short_floats_are_read(kind: str, tmp_path: Path) -> None:
    bits = (VALUES.view(np.uint32) >> 16).astype(np.uint16)
    stored = VALUES.astype(np.float16) if kind == "float16" else bits

    assert read(tmp_path, model_file({"a": stored})).floats("a").tolist() == VALUES.tolist()


def test_quantised_rows_are_divided_by_their_scales(tmp_path: Path) -> None:
    scale = (127 / np.abs(VALUES).max(axis=1)).astype(np.float32)
    stored = np.rint(VALUES * scale[:, None]).astype(np.int8)
    by_row = read(tmp_path, model_file({"a": stored, "a_scale": scale})).floats("a")
    by_one = read(
        tmp_path, model_file({"a": (VALUES * 100).astype(np.int16), "a_scale": np.array(100, np.float32)})
    ).floats("a")

    assert np.abs(by_row - VALUES).max() < 8 / 127
    assert by_one.tolist() == VALUES.tolist()


def test_a_file_that_is_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    for length in range(len(WHOLE)):
        with pytest.raises(InputError, match="fetch the model again"):
            read(tmp_path, WHOLE[:length])


@given(st.binary(max_size=60), st.integers(0, len(WHOLE)))
def test_bytes_of_any_kind_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes, at: int
) -> None:
    path = tmp_path_factory.mktemp("junk") / "model.bin"
    path.write_bytes(WHOLE[:at] + junk + WHOLE[at + len(junk) :])
    try:
        weights = Weights(path)
    except InputError:
        return
    assert weights is not None


def test_another_kind_of_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'TransformerSpec' model; name a Whisper model"):
        read(tmp_path, model_file({}, kind="TransformerSpec"))


def test_another_version_of_the_format_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="its version is 5, not 6"):
        read(tmp_path, model_file({}, version=5))


def test_a_variable_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the model has no encoder/num_heads"):
        read(tmp_path, WHOLE).number("encoder/num_heads")
