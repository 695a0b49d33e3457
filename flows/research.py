"""Registers the decoding methods of `operators.research`, each with what it checks and opens."""

from pathlib import Path
from typing import TYPE_CHECKING

from flows.settings.methods import Proposing, method
from operators.decoding.drafts import Drafter
from operators.decoding.recycling import recycling
from operators.errors import UsageError

if TYPE_CHECKING:
    from flows.settings.translate import TranslateSettings
    from operators.research.heads import Heads
    from operators.research.prediction import Prediction

_JOINS = ("ssbd", "recycle")


def _check_draft_model(settings: "TranslateSettings") -> None:
    if settings.draft_model is not None and settings.method not in _JOINS:
        raise UsageError(
            f"a draft model drafts for the methods {' and '.join(_JOINS)} alone; "
            f"leave it out, or choose another method than {settings.method}"
        )


def prediction(settings: "TranslateSettings") -> "Prediction":
    """How the draft model drafts."""
    from flows.engine.sessions import branches
    from operators.research.prediction import Prediction

    return Prediction(
        length=settings.draft_length,
        threshold=settings.draft_threshold,
        recycles=settings.draft_recycling,
        branches=branches(settings),
    )


@method("draft-model", check=_check_draft_model, joins=_JOINS)
def draft_model(asked: Proposing) -> list[Drafter]:
    """What the draft model predicts where the last output has no draft (SpecASR, Wei et al. 2025)."""
    from operators.research.draft_model import ModelDrafts

    if asked.settings.draft_model is None:
        return []
    return [ModelDrafts(asked.task, prediction(asked.settings))]


def _check_heads(settings: "TranslateSettings") -> None:
    if settings.method == "heads" and settings.heads is None:
        raise UsageError(
            "the method heads needs the proposal heads of the model; name their file with --heads, "
            "or make one with 'surtitle model heads'"
        )
    if settings.method != "heads" and settings.heads is not None:
        raise UsageError(
            f"proposal heads are for the method heads alone; leave them out, or choose --method heads "
            f"instead of {settings.method}"
        )


def _open_heads(settings: "TranslateSettings", model: Path) -> "Heads | None":
    from connectors.models.heads import read_heads

    return None if settings.heads is None else read_heads(Path(settings.heads).expanduser(), model)


@method("heads", check=_check_heads, open=_open_heads, weighs_costs=True)
def heads(asked: Proposing) -> list[Drafter]:
    """Proposals of the model's heads (Stern et al. 2018)."""
    from operators.research.heads import HeadProposals

    return [] if asked.opened is None else [HeadProposals(asked.opened, asked.length, asked.acceptance)]


#: Number of tokens of a Gauss-Seidel block.
BLOCK = 8


@method("jacobi")
def jacobi(asked: Proposing) -> list[Drafter]:
    """All of the output at once (Jacobi, Santilli et al. 2023)."""
    return _jacobi(asked, None)


@method("gs-jacobi")
def gauss_seidel(asked: Proposing) -> list[Drafter]:
    """One block after the other."""
    return _jacobi(asked, asked.settings.block or BLOCK)


@method("hybrid-jacobi")
def hybrid(asked: Proposing) -> list[Drafter]:
    """Blocks while there is a last output to start from."""
    return _jacobi(asked, asked.settings.block or BLOCK, hybrid=True)


def _jacobi(asked: Proposing, block: int | None, *, hybrid: bool = False) -> list[Drafter]:
    from operators.research.jacobi import Jacobi

    return [Jacobi(asked.task, block, asked.acceptance, hybrid=hybrid)]


@method("recycle", weighs_costs=True)
def recycle(asked: Proposing) -> list[Drafter]:
    """The rejected rest of the last output, and n-grams (SpecASR). Speech recognisers use it too."""
    return [recycling(asked.task, asked.length, asked.acceptance)]
