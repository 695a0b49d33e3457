"""Captions in the log format of simulstream, which OmniSTEval and simulstream's own scorers read.

There are two kinds of lines, distinguished by their fields. ``id, metadata`` names the recording of a stream,
before any other line of it. ``id, total_audio_processed, computation_time, generated_tokens, deleted_tokens``
is one update: the seconds of the recording that it covers, the seconds from there until it was shown, and the
text added to and removed from the end of the stream's text. The scorers use the sum of both times as the
computation-aware delay. Their setting ``detokenizer_type`` is ``simuleval``.

Segments follow one another in the order of speech. To change one in the middle, all tokens after it are
removed and added again.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import msgspec

from connectors.files.atomic import atomic_file
from operators.errors import InputError
from operators.events import Caption
from operators.metrics.tokenizers import Tokenizer
from operators.text import common_prefix


class Emission(NamedTuple):
    """What one caption did to its stream: removed ``deleted`` from the end, then added ``generated``."""

    #: Seconds of the stream that the caption covers.
    heard_s: float
    #: Seconds from there until it was shown, or ready to be shown.
    behind_s: float
    generated: tuple[str, ...]
    deleted: tuple[str, ...]


class EmissionMeter:
    """Turns the captions of one stream, in order, into emissions.

    Args:
        tokenize: Splits what a caption shows.
    """

    def __init__(self, tokenize: Tokenizer) -> None:
        self._tokenize = tokenize
        self._segments: list[int] = []
        self._tokens: list[tuple[str, ...]] = []

    def emit(self, caption: Caption) -> Emission:
        """The emission of one caption, empty if the shown text did not change."""
        seen_s = caption.ready_s if caption.shown_s is None else caption.shown_s
        place = bisect_left(self._segments, caption.segment)
        if self._segments[place : place + 1] != [caption.segment]:
            self._segments.insert(place, caption.segment)
            self._tokens.insert(place, ())
        before = self._from(place)
        self._tokens[place] = self._tokenize(caption.shown)
        after = self._from(place)
        kept = common_prefix(before, after)
        return Emission(caption.end_s, max(0.0, seen_s - caption.end_s), after[kept:], before[kept:])

    def _from(self, place: int) -> tuple[str, ...]:
        return tuple(token for tokens in self._tokens[place:] for token in tokens)


# Added to the audio that a caption covers. The end of a segment is shown when all of its speech was heard,
# which scorers check with >= after converting seconds to milliseconds: without this margin, rounding would
# decide.
_JUST_AFTER_S = 1e-6


class _Log:
    """The lines of a log, caption by caption."""

    def __init__(self, tokenize: Tokenizer) -> None:
        self._tokenize = tokenize
        #: By stream: its id in the log, and the meter that converts its captions into emissions.
        self._streams: dict[str, tuple[int, EmissionMeter]] = {}
        self._recordings: dict[str, str] = {}

    def lines(self, caption: Caption) -> Iterator[dict[str, object]]:
        """The lines that one caption adds."""
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
        # Readers use the name without folder and suffix: dots in a stream's name must not count as a suffix.
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
        captions: The captions in the order in which they were shown.
        tokenize: Splits the text of captions into words or characters.

    Raises:
        InputError: when two streams cannot be distinguished in this format.
        OutputError: when the log cannot be written.
    """
    log, encoder = _Log(tokenize), msgspec.json.Encoder()
    with atomic_file(path) as file:
        for caption in captions:
            file.writelines(encoder.encode(line) + b"\n" for line in log.lines(caption))
