"""The decoding methods of `operators.research`: what each checks and opens, and its drafters."""

from pathlib import Path
from typing import TYPE_CHECKING

from flows.engine.methods import Proposing
from flows.settings.translate import DRAFTED, TranslateSettings
from operators.decoding.drafts import Drafter
from operators.decoding.recycling import recycling
from operators.errors import UsageError

if TYPE_CHECKING:
    from operators.research.heads import Heads
    from operators.research.prediction import Prediction


def check(settings: TranslateSettings) -> None:
    """Raise `UsageError` for settings that contradict each other."""
    if settings.draft_model is not None and settings.method not in DRAFTED:
        raise UsageError(
            f"a draft model drafts for the methods {' and '.join(DRAFTED)} alone; "
            f"leave it out, or choose another method than {settings.method}"
        )
    if settings.method == "heads" and settings.heads is None:
        raise UsageError(
            "the method heads needs the proposal heads of the model; name their file with translate.heads, "
            "or make one with 'surtitle model heads'"
        )
    if settings.method != "heads" and settings.heads is not None:
        raise UsageError(
            "proposal heads are for the method heads alone; leave them out, or choose it instead of "
            f"{settings.method}"
        )


def open_heads(settings: TranslateSettings, model: Path) -> "Heads | None":
    """The proposal heads that the settings name, for the model in that file."""
    from connectors.models.heads import read_heads

    return None if settings.heads is None else read_heads(Path(settings.heads).expanduser(), model)


def prediction(settings: TranslateSettings) -> "Prediction":
    """How the draft model drafts."""
    from flows.engine.sessions import branches
    from operators.research.prediction import Prediction

    return Prediction(
        length=settings.draft_length,
        threshold=settings.draft_threshold,
        branches=branches(settings),
    )


def drafters(asked: Proposing) -> list[Drafter]:
    """The drafters after the divergence, in order of precedence.

    A draft model joins the methods that have drafts of the last output alone (SpecASR, Wei et al. 2025).
    """
    method = _METHODS.get(asked.settings.method)
    made = [] if method is None else method(asked)
    if asked.settings.draft_model is not None:
        from operators.research.draft_model import ModelDrafts

        made.append(ModelDrafts(asked.task, prediction(asked.settings)))
    return made


def _heads(asked: Proposing) -> list[Drafter]:
    """Proposals of the model's heads (Stern et al. 2018)."""
    from operators.research.heads import HeadProposals

    return [] if asked.heads is None else [HeadProposals(asked.heads, asked.length, asked.acceptance)]


#: Number of tokens of a Gauss-Seidel block.
BLOCK = 8


def _whole(asked: Proposing) -> list[Drafter]:
    """All of the output at once (Jacobi, Santilli et al. 2023)."""
    return _blocks(asked, None)


def _gauss_seidel(asked: Proposing) -> list[Drafter]:
    """One block after the other."""
    return _blocks(asked, asked.settings.block or BLOCK)


def _hybrid(asked: Proposing) -> list[Drafter]:
    """Blocks while there is a last output to start from."""
    return _blocks(asked, asked.settings.block or BLOCK, hybrid=True)


def _blocks(asked: Proposing, block: int | None, *, hybrid: bool = False) -> list[Drafter]:
    from operators.research.jacobi import Jacobi

    return [Jacobi(asked.task, block, asked.acceptance, hybrid=hybrid)]


def _recycle(asked: Proposing) -> list[Drafter]:
    """The rejected rest of the last output, and n-grams (SpecASR). Speech recognisers use it too."""
    return [recycling(asked.task, asked.length, asked.acceptance)]


_METHODS = {
    "heads": _heads,
    "jacobi": _whole,
    "gs-jacobi": _gauss_seidel,
    "hybrid-jacobi": _hybrid,
    "recycle": _recycle,
}
