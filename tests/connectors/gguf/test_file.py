"""A GGUF file is read and written byte for byte, whatever is in it."""

from pathlib import Path

import numpy as np
import pytest

from connectors.gguf.file import Tensor, decode, encode, read_gguf, write_gguf
from tests.tiny_gguf import byte_pairs, write_model


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_model(tmp_path / "tiny.gguf", byte_pairs({}))


def test_what_was_read_is_written_as_it_was(path: Path, tmp_path: Path) -> None:
    file = read_gguf(path)
    write_gguf(tmp_path / "copy.gguf", file.entries, file.tensors)
    assert (tmp_path / "copy.gguf").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("value", ["ä", 7, True, 0.5, ["a", "b"], np.arange(3, dtype=np.int32)])
def test_values_come_back(value: object) -> None:
    back = decode(encode(value))  # type: ignore[arg-type]
    assert np.array_equal(back, value) if isinstance(value, np.ndarray) else back == value


def test_tensors_of_a_type_that_is_not_known_are_copied(path: Path, tmp_path: Path) -> None:
    file = read_gguf(path)
    odd = Tensor(99, (4,), np.arange(32, dtype=np.uint8))
    write_gguf(tmp_path / "odd.gguf", file.entries, {"odd": odd, **file.tensors})
    again = read_gguf(tmp_path / "odd.gguf").tensors["odd"]
    assert (again.kind, again.shape) == (99, (4,))
    assert again.data.tolist() == odd.data.tolist()
