"""The sessions of the model and of its draft model."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from connectors.models.resolve import resolve_model
from flows.settings.translate import BEAM, TranslateSettings
from operators.errors import InputError
from operators.model_errors import ModelError
from operators.models.llama import ContextSettings, LlamaContext
from operators.models.llama_model import LlamaModel, first_difference
from operators.models.pool import SessionPool
from operators.notifications import Progress
from operators.seq2seq.store import PairStore

#: Maximum number of sequences in llama.cpp.
MAX_SEQUENCES = 256
#: Maximum number of branches of a tree, and of those of a draft model that regenerates beside a branch.
BRANCHES, REGENERATING = 16, 2


def branches(settings: TranslateSettings) -> int:
    """The maximum number of branches of the trees of a draft model, besides the trunk."""
    # Rooms that share passes have no trees.
    if settings.draft_model is None or settings.rooms is not None:
        return 0
    return min(BRANCHES if settings.draft_tree else REGENERATING, MAX_SEQUENCES - 1 - settings.sessions)


def sequences(settings: TranslateSettings, model: LlamaModel, heads: int) -> int:
    """Number of KV sequences: heads, sessions, and shifted ones where the model allows it."""
    if model.is_recurrent:
        return settings.sessions + heads
    fixed = settings.sessions + heads + branches(settings) + shifted(settings, heads)
    return fixed + settings.sessions * beams(settings, heads)


def shifted(settings: TranslateSettings, heads: int) -> int:
    """Number of sequences in which kept tokens wait: one for each session, or none."""
    fits = 2 * settings.sessions + heads + branches(settings) <= MAX_SEQUENCES
    return settings.sessions if settings.commit and fits else 0


def beams(settings: TranslateSettings, heads: int) -> int:
    """Number of beam hypotheses for each session; 0 if there is no room for two."""
    fixed = settings.sessions + heads + branches(settings) + shifted(settings, heads)
    width = min(settings.beam or BEAM, (MAX_SEQUENCES - fixed) // settings.sessions)
    return width if width > 1 and not settings.draft_model else 0


def least_kept(cells: int) -> int:
    """The smallest number of tokens worth keeping in a KV cache of so many cells.

    With the default model on two cores, an additional pass over the source costs as much as 6 tokens of
    another pass, and shifting the keys of 1,024 cells as much as 14.
    """
    return 7 + 14 * cells // 1024


def open_sessions(
    settings: TranslateSettings,
    model: LlamaModel,
    heads: Sequence[tuple[int, ...]],
    context: ContextSettings,
    *,
    keeps: bool = False,
) -> tuple[LlamaContext, SessionPool]:
    """The context and the sessions of the model or of its draft model.

    Args:
        heads: The beginnings of its prompts.
        keeps: Whether outputs are kept behind prompts that have changed, if the model supports that.
    """
    own = msgspec.structs.replace(context, sequences=sequences(settings, model, len(heads)))
    opened = LlamaContext(model, own)
    first, *further = heads
    is_kept = keeps and shifted(settings, len(heads)) and opened.can_shift
    pool = SessionPool(
        opened, first, settings.sessions, further=further,
        least_kept=least_kept(own.cells) if is_kept else None,
        branches=0 if model.is_recurrent else branches(settings),
        beams=0 if model.is_recurrent else beams(settings, len(heads)),
    )  # fmt: skip
    return opened, pool


class DraftModel(NamedTuple):
    path: Path
    model: LlamaModel
    context: LlamaContext
    pool: SessionPool


def open_draft_model(
    settings: TranslateSettings,
    model: LlamaModel,
    heads: Sequence[tuple[int, ...]],
    context: ContextSettings,
    progress: Progress,
) -> DraftModel | None:
    """Open the draft model of the settings for ``model``; None if there is none.

    Raises `InputError` if it cannot be used, or if its vocabulary is not that of ``model``.
    """
    if settings.draft_model is None:
        return None
    path = resolve_model(settings.draft_model, settings.direction, progress=progress)
    loading = partial(progress, "loading the draft model")
    draft = model if path == model.path else LlamaModel(path, loading)
    difference = first_difference(model, draft)
    if difference is not None:
        raise InputError(
            f"{path}: this model cannot draft for {model.path.name}, {difference}; "
            "use a draft model of the same family"
        )
    try:
        # Tokens that only the draft model has must not be drafted.
        context = msgspec.structs.replace(context, tokens=min(model.vocabulary_size, draft.vocabulary_size))
        opened, pool = open_sessions(settings, draft, heads, context)
    except ModelError as error:
        raise InputError(f"{path}: the draft model cannot be used, {error}; choose another") from None
    return DraftModel(path, draft, opened, pool)


class OpenModel(NamedTuple):
    context: LlamaContext | PairStore
    pool: SessionPool
