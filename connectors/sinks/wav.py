"""Writes a stream's audio to a WAV file."""

from pathlib import Path

from typing_extensions import override

from connectors.audio.wav_file import WavFile, WavPosition
from connectors.files.output import inherited
from connectors.files.records import RecordFile
from connectors.files.sink import FileSink
from connectors.files.watch import OutputWatch
from connectors.sinks.part import SinkPart
from operators.errors import OutputError
from operators.events import AudioChunk


class WavSink(FileSink[AudioChunk, WavPosition]):
    """Records one stream as 16 kHz mono 16-bit WAV; takes pairs of a key, which is ignored, and a chunk.

    Each sample is at its time on the stream's clock: audio that was never heard becomes silence, so that the
    file gives the same times when it is replayed. The file is valid after each chunk; beyond 4 GiB (37 hours)
    it continues as RF64.

    Delivery: exactly once with recovery: a resumed run truncates the file to its size at the snapshot.

    Args:
        path: The file; its contents are replaced.
        watch: Notified while the file cannot be written, and the flow continues; without it the flow ends.

    Raises:
        OutputError: when the file cannot be written, here or while the flow runs; when a second stream comes,
            or a chunk from before the audio that was already written.

    Example:
        >>> from bytewax import operators as op
        >>> from bytewax.dataflow import Dataflow
        >>> from bytewax.testing import run_main
        >>> from pathlib import Path
        >>> from connectors import AudioFileSource, WavSink
        >>> flow = Dataflow("example")
        >>> audio = op.input("in", flow, AudioFileSource(Path("talk.wav"), stream="talk"))
        >>> op.output("out", op.key_on("key", audio, lambda chunk: chunk.stream), WavSink(Path("copy.wav")))
        >>> run_main(flow)
        >>> Path("copy.wav").read_bytes()[:4]
        b'RIFF'
    """

    def __init__(self, path: Path, *, watch: OutputWatch | None = None) -> None:
        super().__init__(path, watch=watch)
        if path.exists() and (not path.is_file() or inherited(path) is not None):
            raise OutputError(f"{path} cannot be written: audio needs a regular file; name one")

    @override
    def open_file(
        self, position: WavPosition | None, file: int | None
    ) -> RecordFile[AudioChunk, WavPosition]:
        return WavFile(self.path, position or WavPosition(), file)


part = SinkPart(
    "audio", WavSink, "audio", "Record the speech here (WAV, 16 kHz).", ("--save-audio",), header=None
)
