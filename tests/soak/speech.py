"""Hours of speech as partials: words that grow and are revised, or a recording's partials over and over."""

import json
from collections.abc import Iterator
from itertools import count, groupby
from pathlib import Path
from random import Random
from typing import Any

#: The one stream.
STREAM = "talk"
#: Seconds of a pause that ends a sentence.
PAUSE_S = 1.6
#: The recording that is repeated, beside the checkout; and what is in it, where there is none.
RECORDED = Path("../shared/data/asr/lj001.moonshine.partials.jsonl")
SAMPLE = Path("tests/samples/partials.jsonl")

Partials = Iterator[dict[str, Any]]


def synthetic(seed: int = 0) -> Iterator[Partials]:
    """Segments without end, of about four seconds each, in words that a model of few words knows.

    The pauses between them end sentences.
    """
    random, at_s = Random(seed), 0.0
    for number in count():
        words: list[str] = []
        made = []
        for revision in range(random.randint(1, 4)):
            words = [
                *words[: max(0, len(words) - random.randint(0, 1))],
                *random.choices(("the", "he", "th"), k=2),
            ]
            at_s += 1.6
            made.append(_partial(number, revision, " ".join(words), at_s))
        made[-1]["is_final"] = True
        at_s += PAUSE_S
        yield iter(made)


def repeated(path: Path) -> Iterator[Partials]:
    """The segments of a recording without end, each time with new numbers and a little later."""
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    segments = [list(group) for _, group in groupby(lines, lambda one: one["segment"])]
    length_s = max(one["arrival_s"] for one in lines) + 0.5
    for number in count():
        turn, which = divmod(number, len(segments))
        shift_s = turn * length_s
        yield (_later(one, shift_s) | {"stream": STREAM, "segment": number} for one in segments[which])


def write(path: Path, segments: Iterator[Partials], number: int) -> float:
    """Write so many segments, the last one as a sentence of its own; the seconds that they last."""
    last: dict[str, Any] = {}
    with path.open("w", encoding="utf-8") as file:
        for which, partials in zip(range(number), segments, strict=False):
            for one in partials:
                last = _later(one, PAUSE_S) if which == number - 1 else one
                file.write(json.dumps(last) + "\n")
    return float(last["end_s"])


def _later(partial: dict[str, Any], shift_s: float) -> dict[str, Any]:
    times = ("start_s", "end_s", "arrival_s")
    return partial | {name: round(partial[name] + shift_s, 3) for name in times}


def _partial(segment: int, revision: int, text: str, end_s: float) -> dict[str, Any]:
    return {
        "stream": STREAM, "segment": segment, "revision": revision, "text": text, "is_final": False,
        "start_s": end_s - 1.6 * (revision + 1), "end_s": end_s, "arrival_s": end_s + 0.1,
    }  # fmt: skip
