"""Reads the weights of Marian's binary format (version 1), as Firefox Translations publishes its models.

All numbers are little-endian. Two `uint64`, the version and the number of tensors, are followed by four for
each tensor: length of the name with its NUL, type, number of dimensions, bytes of data. Then come the names,
the shapes (`int32`), a `uint64` with as many bytes of padding, and the data.

A matrix in 8 bits is followed by one multiplier: value = integer / multiplier. Marian stores right factors of
multiplications by columns, but embeddings by rows. ``…_QuantMultA`` is the multiplier for rounding the left
factor, as in the training for 8 bits (Bogoychev et al. 2020, section 3).
"""

import mmap
import re
import struct
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from operators.errors import InputError, unreadable

Floats = NDArray[np.float32]
Bytes = NDArray[np.int8]

_VERSION, _FLOAT, _INT8, _TEXT = 1, 0x404, 0x4101, 0x101
_MAX_TENSORS, _MAX_DIMENSIONS, _MAX_NAME = 100_000, 8, 1024
_SETTING = re.compile(r"^([\w-]+): *(\S.*?) *$", re.MULTILINE)


#: The epsilon of Marian's layer norm (src/layers/generic.h).
EPSILON = 1e-9


class Size(NamedTuple):
    """The dimensions of a model."""

    width: int
    heads: int
    encoder_layers: int
    decoder_layers: int
    #: Sizes of the source and of the target vocabulary.
    source_tokens: int
    target_tokens: int


class Matrix(NamedTuple):
    #: Shape (inputs, outputs); for embeddings (tokens, width).
    values: Bytes
    #: Each integer represents its value times this scale.
    scale: float


class _Tensor(NamedTuple):
    kind: int
    shape: tuple[int, ...]
    data: memoryview


class Weights:
    """The tensors of one file. Raises `InputError` if its format is another one, or if it is truncated."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                self._data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            self._tensors = _read(self._data)
        except OSError as error:
            raise InputError(unreadable(path, error)) from error
        except (struct.error, ValueError) as error:  # also of an empty file
            raise self._damaged(f"it is not a complete model in Marian's binary format ({error})") from error

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def settings(self) -> Mapping[str, str]:
        """The lines with a single value in the model's own configuration."""
        text = bytes(self._tensor("special:model.yml", _TEXT).data).decode(errors="replace")
        return dict(_SETTING.findall(text))

    def floats(self, name: str) -> Floats:
        tensor = self._tensor(name, _FLOAT)
        return np.frombuffer(tensor.data, np.float32, prod(tensor.shape))

    def range(self, name: str) -> float | None:
        """Largest magnitude of the values multiplied with this matrix; None if it is not in the file."""
        key = f"{name}_QuantMultA"
        multiplier = float(self.floats(key)[0]) if key in self else 0.0
        return 127 / multiplier if multiplier > 0 else None

    def matrix(self, name: str, *, is_embedding: bool = False) -> Matrix:
        tensor = self._tensor(name, _INT8)
        rows, columns = tensor.shape
        values: Any = np.frombuffer(tensor.data, np.int8, rows * columns)
        values = values.reshape(rows, columns) if is_embedding else values.reshape(columns, rows).T
        (multiplier,) = struct.unpack_from("<f", tensor.data, rows * columns)
        if not multiplier > 0:
            raise self._damaged(f"{name} has no multiplier")
        return Matrix(values, 1 / multiplier)

    def values(self, name: str) -> Floats:
        """The float values of a matrix of the decoder, its embeddings or a vector."""
        if self._tensors[name].kind == _FLOAT:
            return self.floats(name).copy()
        values, scale = self.matrix(name, is_embedding=name.endswith("Wemb"))
        return values * np.float32(scale)

    def replaced(self, values: Mapping[str, Floats]) -> bytes:
        """The content of the file with other values in some vectors and matrices, which are rounded again."""
        data = bytearray(self._data)
        for name, tensor in _read(memoryview(data)).items():
            if name not in values:
                continue
            if tensor.kind == _FLOAT:
                tensor.data[: values[name].nbytes] = values[name].astype("<f4").tobytes()
                continue
            # If all values fit, the multiplier stays, and with it the integers of unchanged values.
            multiplier = 1 / self.matrix(name).scale
            multiplier = min(multiplier, 127 / max(float(np.abs(values[name]).max()), 1e-9))
            stored = np.rint(values[name].T * multiplier).astype(np.int8).tobytes()
            tensor.data[: len(stored) + 4] = stored + struct.pack("<f", multiplier)
        return bytes(data)

    def _tensor(self, name: str, kind: int) -> _Tensor:
        tensor = self._tensors.get(name)
        if tensor is None or tensor.kind != kind:
            raise self._damaged(f"it has no tensor {name} of the expected type")
        return tensor

    def _damaged(self, why: str) -> InputError:
        return InputError(f"{self.path}: this model cannot be used, {why}; fetch it again")


#: Bytes per value, and bytes after the values of a tensor, by type.
_BYTES = {_FLOAT: (4, 0), _INT8: (1, 4), _TEXT: (1, 0)}


def _read(data: memoryview) -> dict[str, _Tensor]:
    """The tensors by name. Raises `ValueError` or `struct.error` if the bytes do not match the format."""
    version, count = struct.unpack_from("<QQ", data)
    if version != _VERSION or count > _MAX_TENSORS:
        raise ValueError(f"version {version} with {count} tensors")
    headers = [struct.unpack_from("<QQQQ", data, 16 + 32 * place) for place in range(count)]
    at = 16 + 32 * count
    names, shapes, tensors = [], [], {}
    for length, *_ in headers:
        if not 0 < length <= _MAX_NAME:
            raise ValueError("a name has no length")
        names.append(bytes(data[at : at + length - 1]).decode(errors="replace"))
        at += length
    for _, _, dimensions, _ in headers:
        if dimensions > _MAX_DIMENSIONS:
            raise ValueError("a tensor has too many dimensions")
        shapes.append(struct.unpack_from(f"<{dimensions}i", data, at))
        at += 4 * dimensions
    at += 8 + struct.unpack_from("<Q", data, at)[0]
    for name, shape, (_, kind, _, size) in zip(names, shapes, headers, strict=True):
        # Tensors of other types, such as a multiplier that is marked as a matrix, are not read.
        width, besides = _BYTES.get(kind, (0, 0))
        if min(shape, default=0) < 0 or min(size, len(data) - at) < max(size, prod(shape) * width + besides):
            raise ValueError(f"{name} is cut off")
        tensors[name] = _Tensor(kind, shape, data[at : at + size])
        at += size
    return tensors
