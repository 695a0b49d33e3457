"""Captions in the log format of simulstream, which OmniSTEval and simulstream's own scorers read.

Two kinds of lines, told apart by their fields. ``id, metadata`` names the recording of a stream, before
anything else of it. ``id, total_audio_processed, computation_time, generated_tokens, deleted_tokens`` is one
update: the seconds of the recording that it covers, the seconds from there until it was shown, and what it
added to and took from the end of the stream's text. The scorers take the sum of both times as the
computation-aware delay. Their setting ``detokenizer_type`` is ``simuleval``.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

import msgspec

from connectors.files.whole import whole_file
from operators.errors import InputError
from operators.events import Caption
from operators.metrics.emissions import EmissionMeter
from operators.metrics.tokenizers import Tokenizer

# Added to the audio that a caption covers. What comes with the last of a segment's speech comes when all was
# heard, and scorers ask whether it is so with >=, after they have turned seconds into milliseconds: without
# it, the last bit of a number decides.
_JUST_AFTER_S = 1e-6


class _Log:
    """The lines of a log, from one caption to the next."""

    def __init__(self, tokenize: Tokenizer) -> None:
        self._tokenize = tokenize
        #: By stream: its id in the log, and what turns its captions into emissions.
        self._streams: dict[str, tuple[int, EmissionMeter]] = {}
        self._recordings: dict[str, str] = {}

    def lines(self, caption: Caption) -> Iterator[dict[str, object]]:
        """What one caption adds."""
        if caption.stream not in self._streams:
            yield self._begin(caption.stream)
        number, meter = self._streams[caption.stream]
        emission = meter.emit(caption)
        yield {
            "id": number,
            "total_audio_processed": emission.heard_s + _JUST_AFTER_S,
            "computation_time": max(0.0, emission.behind_s - _JUST_AFTER_S),
            "generated_tokens": emission.generated,
            "deleted_tokens": emission.deleted,
        }

    def _begin(self, stream: str) -> dict[str, object]:
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
        return {"id": number, "metadata": {"wav_name": recording}}


def write_simulstream(captions: Iterable[Caption], path: Path, tokenize: Tokenizer) -> None:
    """Write captions as a simulstream log, whole or not at all.

    Args:
        captions: What was shown, in its order.
        path: The log.
        tokenize: Splits what captions show: into words, or into characters.

    Raises:
        InputError: when a stream cannot be told from another one in this format.
        OutputError: when it cannot be written.
    """
    log, encoder = _Log(tokenize), msgspec.json.Encoder()
    with whole_file(path) as file:
        for caption in captions:
            file.writelines(encoder.encode(line) + b"\n" for line in log.lines(caption))
