"""Whether a long run held its bounds: memory, descriptors, threads, and what an update costs."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import quantiles
from typing import NamedTuple

from tests.soak.vitals import Sample

#: Share of the run that may be needed to become warm.
WARM = 0.05
#: How far resident memory may then go from where it was, as a share of it.
MEMORY = 0.03
#: Samples without which nothing can be said.
MIN_SAMPLES = 12
#: How much more processor time an update may take in the last third of the run than in the first.
COST = 0.10


class Part(NamedTuple):
    """What an update took between two samples, in milliseconds."""

    cpu_ms: float
    wall_ms: float


def parts(samples: Sequence[Sample]) -> list[Part]:
    """What an update took in each part of the run."""
    made = []
    for before, after in pairwise(samples):
        updates = max(1, after.updates - before.updates)
        spent_s = (after.cpu_s - before.cpu_s, after.wall_s - before.wall_s)
        made.append(Part(*(1000 * seconds / updates for seconds in spent_s)))
    return made


def warm(samples: Sequence[Sample]) -> list[Sample]:
    """The samples that count."""
    return [one for one in samples if one.segments >= WARM * samples[-1].segments]


def are_enough(samples: Sequence[Sample]) -> bool:
    """Whether anything can be said."""
    return bool(samples) and len(warm(samples)) >= MIN_SAMPLES


def drift(samples: Sequence[Sample]) -> float:
    """How far resident memory went from where it was when the run was warm, as a share."""
    first, *later = (one.resident for one in warm(samples))
    return max((abs(one - first) / first for one in later), default=0.0)


def trend(samples: Sequence[Sample]) -> float:
    """How much more an update takes in the last third of the run than when it was warm, as a share.

    By the lower quartiles: other programs can only make a part of a run dearer than it is.
    """
    costs = [part.cpu_ms for part in parts(warm(samples))]
    third = len(costs) // 3
    first, last = (quantiles(part, n=4)[0] for part in (costs[:third], costs[-third:]))
    return last / first - 1


def faults(samples: Sequence[Sample]) -> list[str]:
    """What was out of bounds, in sentences."""
    if not are_enough(samples):
        return [f"{len(samples)} samples are too few to tell"]
    found = []
    if drift(samples) > MEMORY:
        found.append(f"resident memory went {drift(samples):.1%} from where it was, more than {MEMORY:.0%}")
    for name in ("descriptors", "threads"):
        numbers = sorted({getattr(one, name) for one in warm(samples)})
        if len(numbers) > 1:
            found.append(f"{name} were not constant: {numbers[0]} to {numbers[-1]}")
    if trend(samples) > COST:
        found.append(f"an update took {trend(samples):.1%} more in the last third, more than {COST:.0%}")
    return found


HEAD = "segments  updates  wall s  RSS MiB  private  fds  threads  CPU ms/update  wall ms/update"


def row(first: Sample, before: Sample, now: Sample) -> str:
    """A line of the table under `HEAD`, with the cost of an update since ``before``."""
    (part,) = parts([before, now])
    return (
        f"{now.segments:8}  {now.updates:7}  {now.wall_s - first.wall_s:6.0f}  {now.resident / 1024:7.1f}  "
        f"{now.private / 1024:7.1f}  {now.descriptors:3}  {now.threads:7}  {part.cpu_ms:13.2f}  "
        f"{part.wall_ms:14.2f}"
    )
