"""Proposal heads: the method, and the check that heads and the method come together."""

from pathlib import Path
from typing import TYPE_CHECKING

from flows.settings.methods import Proposing, method
from operators.decoding.drafts import Drafter
from operators.errors import UsageError

if TYPE_CHECKING:
    from flows.settings.schema import TranslateSettings
    from operators.research.heads import Heads

_NAME = "heads"


def _check(settings: "TranslateSettings") -> None:
    if settings.method == _NAME and settings.heads is None:
        raise UsageError(
            "the method heads needs the proposal heads of the model; name their file with --heads, "
            "or make one with 'surtitle model heads'"
        )
    if settings.method != _NAME and settings.heads is not None:
        raise UsageError(
            f"proposal heads are for the method heads alone; leave them out, or choose --method heads "
            f"instead of {settings.method}"
        )


def _open(settings: "TranslateSettings", model: Path) -> "Heads | None":
    from connectors.models.heads import read_heads

    return None if settings.heads is None else read_heads(Path(settings.heads).expanduser(), model)


@method(_NAME, check=_check, open=_open, weighs_costs=True)
def heads(asked: Proposing) -> list[Drafter]:
    """Proposals of the model's heads (Stern et al. 2018)."""
    from operators.research.heads import HeadProposals

    return [] if asked.opened is None else [HeadProposals(asked.opened, asked.length, asked.acceptance)]
