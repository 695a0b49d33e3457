"""Whether a long run held its bounds: memory, descriptors, threads, and what an update costs."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import linear_regression
from typing import NamedTuple

from tests.soak.vitals import Sample

#: Share of the run that may be needed to become warm.
WARM = 0.05
#: How far resident memory may then go from where it was, as a share of it.
MEMORY = 0.03
#: How much more an update may cost at the end of the run, by the line that fits best.
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


def drift(samples: Sequence[Sample]) -> float:
    """How far resident memory went from where it was when the run was warm, as a share."""
    first, *later = (one.resident for one in warm(samples))
    return max((abs(one - first) / first for one in later), default=0.0)


def trend(samples: Sequence[Sample]) -> float:
    """How much more processor time an update takes at the end than when the run was warm, as a share."""
    costs = [part.cpu_ms for part in parts(warm(samples))]
    slope, begin = linear_regression(range(len(costs)), costs)
    return slope * (len(costs) - 1) / begin


def faults(samples: Sequence[Sample]) -> list[str]:
    """What was out of bounds, in sentences."""
    found = []
    if drift(samples) > MEMORY:
        found.append(f"resident memory went {drift(samples):.1%} from where it was, more than {MEMORY:.0%}")
    for name in ("descriptors", "threads"):
        numbers = sorted({getattr(one, name) for one in warm(samples)})
        if len(numbers) > 1:
            found.append(f"{name} were not constant: {numbers[0]} to {numbers[-1]}")
    if trend(samples) > COST:
        found.append(f"an update took {trend(samples):.1%} more at the end, more than {COST:.0%}")
    return found


def table(samples: Sequence[Sample], rows: int = 20) -> str:
    """The samples as a table, some of them."""
    every = max(1, len(samples) // rows)
    lines = ["segments  updates  wall s  RSS MiB  private  fds  threads  CPU ms/update  wall ms/update"]
    picked = [*samples[::every], *([] if len(samples) % every == 1 or every == 1 else [samples[-1]])]
    for before, one in zip([None, *picked], picked, strict=False):
        text = (
            f"{one.segments:8}  {one.updates:7}  {one.wall_s - samples[0].wall_s:6.0f}  "
            f"{one.resident / 1024:7.1f}  {one.private / 1024:7.1f}  {one.descriptors:3}  {one.threads:7}"
        )
        if before is not None:
            (part,) = parts([before, one])
            text += f"  {part.cpu_ms:13.2f}  {part.wall_ms:14.2f}"
        lines.append(text)
    return "\n".join(lines)
