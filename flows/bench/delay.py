"""The cost of source conditioning for a viewer: how much later a word reaches the model."""

from collections.abc import Sequence

from flows.bench.corpus import BenchSegment
from operators.decoding.conditioning import Conditioning


def mean_delay_s(segments: Sequence[BenchSegment], conditioning: Conditioning) -> float | None:
    """Seconds from the first update that has a word at a position to the one that gives it to the model.

    The mean over all positions of the finals' words; None if the updates have no times.
    """
    waits: list[float] = []
    for segment in segments:
        if segment.arrivals_s is None:
            return None
        last = len(segment.updates) - 1
        given = [
            conditioning.prepare(text, is_final=number == last) for number, text in enumerate(segment.updates)
        ]
        heard_s, given_s = (_first_s(texts, segment.arrivals_s) for texts in (segment.updates, given))
        waits += [late - soon for late, soon in zip(given_s, heard_s, strict=True)]
    return sum(waits) / len(waits) if waits else None


def _first_s(texts: Sequence[str], arrivals_s: Sequence[float]) -> list[float]:
    """The time when each position of the last text first had a word."""
    reached: list[float] = []
    counts = [len(text.split()) for text in texts]
    for count, arrival_s in zip(counts, arrivals_s, strict=True):
        reached += [arrival_s] * (count - len(reached))
    return reached[: counts[-1]]
