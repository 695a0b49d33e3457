"""The measurements of one model and one language pair, for the papers' tables."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from flows.measuring.plan import DisplayMask, Plan, variant_of
from flows.measuring.results import Row
from flows.measuring.scores import SegmentTrial
from flows.pages.table import Table


class MeasuredRun(NamedTuple):
    plan: Plan
    #: One for each variant of the plan and each of its masks.
    rows: Sequence[Row]
    signature: Mapping[str, Any]
    #: The trials of the first repeat, and the updates that they translated, by segment.
    trials: Sequence[SegmentTrial] = ()
    sources: Sequence[Sequence[str]] = ()

    @property
    def model(self) -> str:
        return str(self.signature["model"]["file"])

    @property
    def target(self) -> str:
        return self.plan.variants[0].target

    @property
    def pair(self) -> str:
        """The languages' codes."""
        first = self.plan.variants[0]
        return f"{first.direction.source.code}→{first.direction.target.code}"

    @property
    def translators(self) -> Sequence[Row]:
        """The first row of each variant."""
        return self.rows[:: len(self.plan.masks)]

    def which(self, varied: dict[str, Any]) -> int:
        """The number of the variant with these settings; -1 if there is none."""
        wanted = variant_of(self.plan.common, varied)
        return self.plan.variants.index(wanted) if wanted in self.plan.variants else -1

    def row(self, which: int, mask: DisplayMask) -> Row | None:
        if which < 0 or mask not in self.plan.masks:
            return None
        return self.rows[which * len(self.plan.masks) + self.plan.masks.index(mask)]


class Paper(NamedTuple):
    """A paper that a benchmark reproduces."""

    #: As signatures name its protocol.
    protocol: str
    #: The numbers of its tables that are wanted.
    wanted: Sequence[str]
    #: Makes the tables.
    tables: Callable[[Sequence[MeasuredRun], Sequence[str]], Sequence[Table]]
