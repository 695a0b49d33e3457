"""Recordings and models: binary files whose headers may say anything."""

import io
import struct
from pathlib import Path

import numpy as np
import soundfile

from connectors.audio.decoder import open_audio
from connectors.models.gguf import read_gguf
from operators.events import SAMPLE_RATE
from tests.fuzz.correct import Subject, refused_clearly, written

# More of it is decoded likewise: a block is what memory is needed for.
_BLOCKS = 50
_MAX_BYTES = 4 * SAMPLE_RATE


def check_recording(data: bytes, folder: Path) -> None:
    """A recording is decoded from its beginning and from a place within, a little at a time."""
    path = written(folder, "talk.wav", data)
    with refused_clearly(path):
        for position in (0, 3 * SAMPLE_RATE):
            decoder = open_audio(path, position)
            for _, block in zip(range(_BLOCKS), decoder.blocks(), strict=False):
                assert len(block) % 2 == 0
                assert len(block) <= _MAX_BYTES
            decoder.close()


def check_model(data: bytes, folder: Path) -> None:
    path = written(folder, "model.gguf", data)
    with refused_clearly(path):
        read_gguf(path)


def _recording(container: str, rate: int, channels: int = 1) -> bytes:
    file = io.BytesIO()
    tone = 8000 * np.sin(np.arange(rate // 20) / 9)
    samples = np.repeat(tone[:, None], channels, axis=1).astype(np.int16)
    soundfile.write(file, samples, rate, format=container, subtype="PCM_16")
    return file.getvalue()


def _number(kind: str, value: int) -> bytes:
    return struct.pack(kind, value)


_SIZES = tuple(
    _number(kind, value)
    for kind, values in {
        "<H": (0, 1, 1024, 0xFFFF, 0xFFFE, 0x55),
        "<I": (0, 1, 768_000, 2**31, 2**32 - 1),
        "<Q": (0, 2**63, 2**64 - 1),
    }.items()
    for value in values
)
_RF64 = (
    b"RF64" + _number("<I", 2**32 - 1) + b"WAVEds64" + _number("<I", 28)
    + struct.pack("<QQQI", 600, 400, 200, 0)
    + b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 16_000, 32_000, 2, 16)
    + b"data" + _number("<I", 2**32 - 1) + bytes(400)
)  # fmt: skip
_MODEL = b"GGUF" + struct.pack("<IQQ", 3, 1, 2) + b"".join(
    (
        struct.pack("<Q", 1), b"a", struct.pack("<IIQ", 9, 8, 1), struct.pack("<Q", 1), b"b",
        struct.pack("<Q", 17), b"general.alignment", struct.pack("<II", 4, 32),
        struct.pack("<Q", 1), b"t", struct.pack("<IQIQ", 1, 8, 0, 0), bytes(60),
    )
)  # fmt: skip

_FLAC = _recording("FLAC", 8_000)
RECORDING = Subject(
    check_recording,
    (_recording("WAV", 16_000), _recording("WAV", 44_100, 2), _FLAC, _RF64),
    (*_SIZES, *b"RIFF,RF64,WAVE,fmt ,data,ds64,LIST,fact,fLaC,OggS,FORM".split(b",")),
    {"a stream that goes on behind its end": _FLAC + _FLAC[19:]},
)
MODEL = Subject(
    check_model, (_MODEL,), (*_SIZES, b"GGUF", *(_number("<I", value) for value in range(4, 14))), {}
)
