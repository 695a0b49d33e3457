"""Drafts of a smaller model, where the last output has none (SpecASR, Wei et al. 2025)."""

from typing import TYPE_CHECKING

from flows.settings.methods import Proposing, method
from operators.decoding.drafts import Drafter
from operators.errors import UsageError

if TYPE_CHECKING:
    from flows.settings.schema import TranslateSettings
    from operators.research.prediction import Prediction

_JOINS = ("ssbd", "recycle")


def _check(settings: "TranslateSettings") -> None:
    if settings.draft_model is not None and settings.method not in _JOINS:
        raise UsageError(
            f"a draft model drafts for the methods {' and '.join(_JOINS)} alone; "
            f"leave it out, or choose another method than {settings.method}"
        )


def prediction(settings: "TranslateSettings") -> "Prediction":
    """How the draft model drafts."""
    from flows.engine.draft_model import branches
    from operators.research.prediction import Prediction

    return Prediction(
        length=settings.draft_length,
        threshold=settings.draft_threshold,
        recycles=settings.draft_recycling,
        branches=branches(settings),
    )


@method("draft-model", check=_check, joins=_JOINS)
def draft_model(asked: Proposing) -> list[Drafter]:
    """What the draft model predicts, if there is one."""
    from operators.research.draft_model import ModelDrafts

    if asked.settings.draft_model is None:
        return []
    return [ModelDrafts(asked.task, prediction(asked.settings))]
