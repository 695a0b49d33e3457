"""Reads `model.bin`, the weights of a model in CTranslate2's format (binary version 6).

Strings are a length of two bytes and so many characters with a NUL at the end; numbers are little-endian. The
model's kind and revision are followed by the variables: name, shape, type, size, values. A quantised variable
comes with another one, ``…_scale``, by which its rows were multiplied. At the end are aliases, two names
each.
"""

import mmap
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from operators.errors import InputError, unreadable

Floats = NDArray[np.float32]

_VERSION = 6
_KIND = "WhisperSpec"
# bfloat16, which NumPy does not have, is read as its bits.
_TYPES = {0: "<f4", 1: "<i1", 2: "<i2", 3: "<i4", 4: "<f2", 5: "<u2"}
_BFLOAT16 = 5
_MAX_VARIABLES, _MAX_DIMENSIONS = 100_000, 4


class BrokenFileError(Exception):
    """The bytes do not match the format."""


class Weights:
    """The variables of one file, converted to float32 on access.

    Raises:
        InputError: if the file is not a Whisper model in CTranslate2's format, or is truncated.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with path.open("rb") as file:
                # The map outlives the file object: weights are read on demand and not kept twice.
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise InputError(unreadable(path, error)) from error
        except ValueError as error:
            raise InputError(f"{path}: the file is empty; fetch the model again") from error
        try:
            self._variables = _read(_Reader(data, path))
        except BrokenFileError as error:
            raise InputError(
                f"{path}: this is not a complete CTranslate2 model file ({error}); fetch the model again"
            ) from error

    def __contains__(self, name: str) -> bool:
        return name in self._variables

    def floats(self, name: str) -> Floats:
        """The variable of that name. Raises `InputError` if there is none."""
        values = self._variable(name)
        if f"{name}_scale" not in self:
            return values
        scale = self._variable(f"{name}_scale")
        # One scale for all, or one for each row.
        return values / scale.reshape(-1, *[1] * (values.ndim - 1)) if scale.ndim else values / scale

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of the variable of that name. Raises `InputError` if there is none."""
        return self._stored(name)[0].shape

    def number(self, name: str) -> int:
        """The variable of that name, which is a single integer."""
        values = self.floats(name)
        if values.size != 1:
            raise InputError(f"{self._path}: {name} is not a number; convert the model again")
        return int(values.reshape(()))

    def _stored(self, name: str) -> tuple[NDArray[np.generic], int]:
        if name not in self:
            raise InputError(
                f"{self._path}: the model has no {name}; convert it again with a current CTranslate2"
            )
        return self._variables[name]

    def _variable(self, name: str) -> Floats:
        values, kind = self._stored(name)
        wide = values.astype(np.uint32) << 16 if kind == _BFLOAT16 else values.astype(np.float32)
        return wide.view(np.float32)


class _Reader:
    """Reads the bytes of a file in sequence."""

    def __init__(self, data: mmap.mmap, path: Path) -> None:
        self._data = data
        self._path = path
        self._at = 0

    def take(self, size: int) -> int:
        """Skip ``size`` bytes and return where they begin."""
        if size > len(self._data) - self._at:
            raise BrokenFileError("it is cut off")
        self._at += size
        return self._at - size

    def numbers(self, form: str) -> tuple[int, ...]:
        form = "<" + form
        return struct.unpack_from(form, self._data, self.take(struct.calcsize(form)))

    def text(self) -> str:
        (length,) = self.numbers("H")
        begin = self.take(length)
        try:
            return self._data[begin : begin + length].rstrip(b"\0").decode("ascii")
        except UnicodeDecodeError as error:
            raise BrokenFileError("a name in it is unreadable") from error

    def values(self, shape: tuple[int, ...], kind: int, size: int) -> NDArray[np.generic]:
        if kind not in _TYPES:
            raise BrokenFileError(f"it holds values of an unknown type {kind}")
        dtype = np.dtype(_TYPES[kind])
        # Python integers: a hostile shape does not overflow.
        count = 1
        for length in shape:
            count *= length
        if count * dtype.itemsize != size:
            raise BrokenFileError("a size in it is wrong")
        return np.frombuffer(self._data, dtype, count, self.take(size)).reshape(shape)

    def refuse_other_kinds(self) -> None:
        (version,) = self.numbers("I")
        if version != _VERSION:
            raise BrokenFileError(f"its version is {version}, not {_VERSION}")
        kind = self.text()
        if kind != _KIND:
            raise InputError(f"{self._path}: this is a {kind!r} model; name a Whisper model")
        self.numbers("I")


def _read(reader: _Reader) -> Mapping[str, tuple[NDArray[np.generic], int]]:
    reader.refuse_other_kinds()
    (count,) = reader.numbers("I")
    if count > _MAX_VARIABLES:
        raise BrokenFileError(f"it claims to hold {count} variables")
    variables = dict(_variables(reader, count))
    (aliases,) = reader.numbers("I")
    for _ in range(min(aliases, _MAX_VARIABLES)):
        alias, name = reader.text(), reader.text()
        if name in variables:
            variables[alias] = variables[name]
    return variables


def _variables(reader: _Reader, count: int) -> Iterator[tuple[str, tuple[NDArray[np.generic], int]]]:
    for _ in range(count):
        name = reader.text()
        (rank,) = reader.numbers("B")
        if rank > _MAX_DIMENSIONS:
            raise BrokenFileError("a shape in it is wrong")
        shape = reader.numbers(f"{rank}I")
        (kind,) = reader.numbers("B")
        (size,) = reader.numbers("I")
        yield name, (reader.values(shape, kind, size), kind)
