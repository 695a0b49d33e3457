"""Captions in the log format of simulstream, which OmniSTEval and simulstream's own scorers read.

Two kinds of lines, told apart by their fields. ``id, metadata`` names the recording of a stream, before
anything else of it. ``id, total_audio_processed, computation_time, generated_tokens, deleted_tokens`` is one
update: the seconds of the recording that it covers, the seconds from there until it was shown, and what it
added to and took from the end of the stream's text. The scorers take the sum of both times as the
computation-aware delay. Their setting ``detokenizer_type`` is ``simuleval``.
"""

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import msgspec

from operators.errors import InputError, OutputError
from operators.events import Caption
from operators.metrics.emissions import EmissionMeter
from operators.metrics.tokenizers import Tokenizer

# Added to the audio that a caption covers. What comes with the last of a segment's speech comes when all was
# heard, and scorers ask whether it is so with >=, after they have turned seconds into milliseconds: without
# it, the last bit of a number decides.
_JUST_AFTER_S = 1e-6


class SimulstreamLog:
    """Writes captions as a simulstream log.

    Delivery: best effort; a file that could not be finished is left as far as it got.

    Args:
        path: The log; it is overwritten.
        tokenize: Splits what captions show: into words, or into characters.

    Raises:
        OutputError: when it cannot be written.
    """

    def __init__(self, path: Path, tokenize: Tokenizer) -> None:
        self._path = path
        self._tokenize = tokenize
        #: By stream: its id in the log, and what turns its captions into emissions.
        self._streams: dict[str, tuple[int, EmissionMeter]] = {}
        self._recordings: dict[str, str] = {}
        self._encoder = msgspec.json.Encoder()
        try:
            self._file = path.open("wb")
        except OSError as error:
            raise self._error(error) from None

    def __enter__(self) -> "SimulstreamLog":
        return self

    def __exit__(self, *_exception: object) -> None:
        try:
            self._file.close()
        except OSError as error:
            raise self._error(error) from None

    def write(self, caption: Caption) -> None:
        """Add one caption.

        Raises:
            InputError: when its stream cannot be told from another one in this format.
        """
        if caption.stream not in self._streams:
            self._begin(caption.stream)
        number, meter = self._streams[caption.stream]
        emission = meter.emit(caption)
        self._write(
            {
                "id": number,
                "total_audio_processed": emission.heard_s + _JUST_AFTER_S,
                "computation_time": max(0.0, emission.behind_s - _JUST_AFTER_S),
                "generated_tokens": emission.generated,
                "deleted_tokens": emission.deleted,
            }
        )

    def _begin(self, stream: str) -> None:
        # What readers go by is the name without folder and suffix: a stream's dots must not be one.
        recording = f"{stream}.wav"
        stem = PurePosixPath(recording).stem
        if stem in self._recordings:
            raise InputError(
                f"streams {self._recordings[stem]!r} and {stream!r} would both be the recording {stem!r} "
                "in a simulstream log; rename one"
            )
        self._recordings[stem] = stream
        number = len(self._streams)
        self._streams[stream] = (number, EmissionMeter(self._tokenize))
        self._write({"id": number, "metadata": {"wav_name": recording}})

    def _write(self, line: dict[str, object]) -> None:
        try:
            self._file.write(self._encoder.encode(line) + b"\n")
        except OSError as error:
            raise self._error(error) from None

    def _error(self, error: OSError) -> OutputError:
        return OutputError(f"{self._path} cannot be written: {error.strerror}")


def write_simulstream(captions: Iterable[Caption], path: Path, tokenize: Tokenizer) -> None:
    """Write captions as a simulstream log; errors as in `SimulstreamLog`."""
    with SimulstreamLog(path, tokenize) as log:
        for caption in captions:
            log.write(caption)
