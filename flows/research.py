"""The decoding methods of `operators.research`: checks, resources and drafters of each."""

from functools import cache
from pathlib import Path

import numpy as np

from flows.settings.translate import DRAFTED, TranslateSettings
from operators.decoding.acceptance import Acceptance, Embeddings
from operators.decoding.drafts import Drafter
from operators.decoding.forward import Task
from operators.decoding.pass_cost import BlockLength
from operators.decoding.recycling import recycling
from operators.decoding.tree import MAX_NODES
from operators.errors import UsageError
from operators.extras import needs_extra
from operators.research.draft_model import ModelDrafts, Prediction
from operators.research.heads import HeadProposals, Heads
from operators.research.jacobi import Jacobi

#: Tokens of a Gauss-Seidel block: the authors measured 3 and 5, and 3 was faster.
BLOCK = 3


def check(settings: TranslateSettings) -> None:
    """Raise `UsageError` for contradicting settings."""
    if settings.draft_model is not None and settings.method not in DRAFTED:
        raise UsageError(
            f"only the methods {' and '.join(DRAFTED)} use a draft model; "
            f"leave it out, or choose another method than {settings.method}"
        )
    if settings.method == "heads" and settings.heads is None:
        raise UsageError(
            "the method heads needs the proposal heads of the model; name their file with translate.heads, "
            "or make one with 'surtitle model heads'"
        )
    if settings.method != "heads" and settings.heads is not None:
        raise UsageError(
            "only the method heads uses proposal heads; leave them out, or choose it instead of "
            f"{settings.method}"
        )


def open_heads(settings: TranslateSettings, model: Path) -> Heads | None:
    if settings.heads is None:
        return None
    with needs_extra("llm", "translate.heads"):
        from connectors.models.heads import read_heads
    return read_heads(Path(settings.heads).expanduser(), model)


@cache
def embeddings(model: Path) -> Embeddings:
    """The embeddings of a model's output tokens. Raises `InputError` if its format is not supported."""
    with needs_extra("llm", "the rule near-N"):
        from connectors.models.heads import output_layer
    rows = output_layer(model).rows
    return lambda tokens: rows(np.array(tokens, np.int32)).matrix


def prediction(settings: TranslateSettings) -> Prediction:
    from flows.engine.language_model import branches  # which loads llama.cpp

    held = branches(settings)
    return Prediction(
        length=settings.draft_length,
        threshold=settings.draft_threshold,
        branches=held if settings.draft_tree else 0,
        nodes=MAX_NODES if held else 0,
    )


def drafters(
    settings: TranslateSettings, task: Task, length: BlockLength, rule: Acceptance, heads: Heads | None
) -> list[Drafter]:
    """The drafters after the divergence, in order of precedence; each proposes ``length`` tokens."""
    block, own = settings.block or BLOCK, settings.guess == "draft"
    made: list[Drafter] = []
    match settings.method:
        case "heads" if heads is not None:
            made = [HeadProposals(heads, length, rule)]
        case "jacobi":
            made = [Jacobi(task, rule, horizon=settings.horizon, starts_with_draft=own)]
        case "gs-jacobi":
            made = [Jacobi(task, rule, block=block, starts_with_draft=own)]
        case "hybrid-jacobi":
            made = [Jacobi(task, rule, block=block, horizon=settings.horizon, starts_with_draft=own)]
        case "recycle":
            made = [recycling(task, length, rule)]
    # `check` allows it with methods that draft from the last output alone (SpecASR, Wei et al. 2025).
    if settings.draft_model is not None:
        made.append(ModelDrafts(task, prediction(settings)))
    return made
