"""The sound that rooms repeat, in pieces as a speaker sends them."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from connectors.audio.decoder import AudioDecoder, probe
from connectors.rooms.limits import BYTES_PER_SECOND
from operators.errors import UsageError
from operators.serving.recording import phase

#: Seconds of a piece.
PIECE_S = 0.1
_PIECE_BYTES = int(PIECE_S * BYTES_PER_SECOND)
# More sound than this is not kept in memory; the rooms begin again.
_MAX_BYTES = 3600 * BYTES_PER_SECOND


class Sound:
    """A recording: 16 kHz mono samples of 16 bits."""

    def __init__(self, pcm: bytes) -> None:
        """``pcm`` must fill a piece; what is left over after the last whole piece is not used."""
        self._pcm = pcm[: len(pcm) - len(pcm) % _PIECE_BYTES]

    def pieces(self, room: int) -> Iterator[bytes]:
        """The pieces that a room says, without end; each room begins at another place."""
        at = _PIECE_BYTES * int(len(self._pcm) // _PIECE_BYTES * phase(room))
        while True:
            yield self._pcm[at : at + _PIECE_BYTES]
            at = (at + _PIECE_BYTES) % len(self._pcm)


def read_sound(recording: Path) -> Sound:
    """The sound of a file.

    Raises:
        InputError: for a file that cannot be read.
        UsageError: for one that holds next to nothing.
    """
    probe(recording)
    pcm = bytearray()
    with closing(AudioDecoder(recording)) as decoder:
        for block in decoder.blocks():
            pcm += block
            if len(pcm) >= _MAX_BYTES:
                break
    if len(pcm) < _PIECE_BYTES:
        raise UsageError(f"{recording} holds no speech; give a longer recording")
    return Sound(bytes(pcm))
