"""How much audio the header of a WAV file promises, and how much the file holds.

A truncated recording (a full disk, an aborted download) promises more than it has. A program that writes to
a pipe cannot know the length and leaves a placeholder: such a file is complete. The layout is that of
RIFF/WAVE, and of RF64 (EBU Tech 3306) for files over 4 GiB.
"""

import io
import struct
from pathlib import Path
from typing import BinaryIO

import msgspec

# Sizes written by programs that cannot know the length: 0 (GStreamer), all ones (ffmpeg), just under 2 GiB
# (SoX, arecord). For such a file it is impossible to say whether anything is missing.
_MIN_OPEN_ENDED = 0x7FFF_0000
_UNKNOWN = 0xFFFF_FFFF
# Chunks before the data: a recording has a handful, but gigabytes of zeros look like empty chunks.
_MAX_CHUNKS = 1000


class WavData(msgspec.Struct, frozen=True):
    """The ``data`` chunk of a WAV file, in bytes."""

    #: Position of the chunk's 32-bit size in the file.
    size_at: int
    #: The size in the header; absent if it is a placeholder.
    promised: int | None
    #: Bytes after the chunk's header.
    present: int
    #: Bytes per second of audio.
    per_second: int

    @property
    def missing_s(self) -> float:
        """Seconds of audio that the header promises and the file does not have."""
        if self.promised is None or not self.per_second:
            return 0.0
        return max(0, self.promised - self.present) / self.per_second


def read_wav_data(path: Path) -> WavData | None:
    """Find the ``data`` chunk; None for a file that is not WAV or has no such chunk."""
    with path.open("rb") as file:
        total = file.seek(0, io.SEEK_END)
        file.seek(0)
        head = file.read(12)
        if head[:4] not in (b"RIFF", b"RF64", b"BW64") or head[8:] != b"WAVE":
            return None
        is_closed = struct.unpack("<4xI4x", head)[0] == total - 8
        return _find_data(file, total, is_closed)


def _find_data(file: BinaryIO, total: int, is_closed: bool) -> WavData | None:
    per_second = 0
    size_64 = None
    for _ in range(_MAX_CHUNKS):
        if len(head := file.read(8)) < 8:
            break
        name, size = struct.unpack("<4sI", head)
        at = file.tell()
        if name == b"data":
            promised = size_64 if size == _UNKNOWN and size_64 is not None else size
            # If the writer came back to fill in the outer size, the inner size is valid too, even if 0.
            known = is_closed or size_64 is not None or 0 < promised < _MIN_OPEN_ENDED
            return WavData(at - 4, promised if known else None, total - at, per_second)
        if name == b"fmt " and len(body := file.read(12)) == 12:
            per_second = struct.unpack("<8xI", body)[0]
        elif name == b"ds64" and len(body := file.read(16)) == 16:
            size_64 = struct.unpack("<8xQ", body)[0]
        # Chunks are padded to an even length.
        file.seek(at + size + size % 2)
    return None


class OpenEndedWav(io.FileIO):
    """A WAV file whose data size reads as "unknown": libsndfile would take a size of 0 literally."""

    def __init__(self, path: Path, data: WavData) -> None:
        super().__init__(path)
        self._size_at = data.size_at

    def __del__(self) -> None:
        # A decoder that reads from a file object does not close it.
        self.close()

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]
        """Read from the file, replacing the four bytes of the size."""
        began = self.tell()
        count = super().readinto(buffer) or 0
        view = memoryview(buffer).cast("B")
        for at in range(max(began, self._size_at), min(began + count, self._size_at + 4)):
            view[at - began] = 0xFF
        return count
