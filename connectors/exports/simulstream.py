"""Captions in the log format of simulstream, which OmniSTEval and simulstream's own scorers read.

There are two kinds of lines, distinguished by their fields. ``id, metadata`` names the recording of a stream,
before any other line of it. ``id, total_audio_processed, computation_time, generated_tokens, deleted_tokens``
is one update: the seconds of the recording that it covers, the seconds from there until it was shown, and the
text added to and removed from the end of the stream's text. The scorers use the sum of both times as the
computation-aware delay. Their setting ``detokenizer_type`` is ``simuleval``.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

import msgspec

from connectors.files.atomic import atomic_file
from operators.errors import InputError
from operators.events import Caption
from operators.metrics.tokenizers import Tokenizer
from operators.text import common_prefix

# Added to the audio that a caption covers. Scorers check with >= that a segment's end is shown after all of
# its speech, and convert seconds to milliseconds before: without this margin, rounding would decide.
_JUST_AFTER_S = 1e-6


class _Stream:
    """The text of one stream. Segments follow one another in the order of speech."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._tokens: dict[int, tuple[str, ...]] = {}

    def update(self, segment: int, tokens: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The tokens removed from the end, and those added, when a segment's tokens change.

        To change a segment in the middle, all tokens after it are removed and added again.
        """
        before = self._from(segment)
        self._tokens[segment] = tokens
        after = self._from(segment)
        kept = common_prefix(before, after)
        return before[kept:], after[kept:]

    def _from(self, segment: int) -> tuple[str, ...]:
        later = sorted(number for number in self._tokens if number >= segment)
        return tuple(token for number in later for token in self._tokens[number])


def log_lines(captions: Iterable[Caption], tokenize: Tokenizer) -> Iterator[dict[str, object]]:
    """The lines of a log; captions must come in the order in which they were shown.

    Raises `InputError` when two streams cannot be distinguished in this format.
    """
    streams: dict[str, _Stream] = {}
    recordings: dict[str, str] = {}
    for caption in captions:
        if caption.stream not in streams:
            # Readers use the name without folder and suffix: dots in it must not count as a suffix.
            name = f"{caption.stream}.wav"
            stem = PurePosixPath(name).stem
            if (other := recordings.setdefault(stem, caption.stream)) != caption.stream:
                raise InputError(
                    f"streams {other!r} and {caption.stream!r} would both be the recording {stem!r} "
                    "in a simulstream log; rename one"
                )
            streams[caption.stream] = _Stream(len(streams))
            yield {"id": streams[caption.stream].number, "metadata": {"wav_name": name}}
        stream = streams[caption.stream]
        deleted, generated = stream.update(caption.segment, tokenize(caption.shown))
        seen_s = caption.ready_s if caption.shown_s is None else caption.shown_s
        yield {
            "id": stream.number,
            "total_audio_processed": caption.end_s + _JUST_AFTER_S,
            "computation_time": max(0.0, seen_s - caption.end_s - _JUST_AFTER_S),
            "generated_tokens": generated,
            "deleted_tokens": deleted,
        }


def write_simulstream(captions: Iterable[Caption], path: Path, tokenize: Tokenizer) -> None:
    """Write captions as a simulstream log, whole or not at all.

    Raises `InputError` as `log_lines` does, and `OutputError` when the log cannot be written.
    """
    with atomic_file(path) as file:
        file.writelines(msgspec.json.encode(line) + b"\n" for line in log_lines(captions, tokenize))
