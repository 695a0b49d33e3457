"""The second model: loaded beside the first if it speaks in the same tokens, with its own sessions."""

from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from connectors.models.resolve import resolve_model
from flows.settings.schema import TranslateSettings
from operators.decoding.prediction import Prediction
from operators.errors import InputError, UsageError
from operators.models.llama import ContextSettings, LlamaContext
from operators.models.llama_model import LlamaModel
from operators.models.memory_plan import MAX_SEQUENCES, recurrent_memory
from operators.models.pool import SessionPool
from operators.models.recurrent import RecurrentMemory
from operators.models.vocabulary import first_difference
from operators.progress import Progress
from operators.trouble import ModelTrouble

#: Branches of a tree.
BRANCHES = 2
#: The methods that ask a second model, where their own drafts have nothing.
DRAFTED = ("ssbd", "recycle")


def prediction(settings: TranslateSettings) -> Prediction | None:
    """How the second model drafts; None where there is none."""
    if settings.draft_model is None:
        return None
    return Prediction(
        length=settings.draft_length,
        threshold=settings.draft_threshold,
        recycles=settings.draft_recycling,
        branches=branches(settings),
    )


def branches(settings: TranslateSettings) -> int:
    """The branches that a tree of draft tokens may have beside its trunk."""
    # Of rooms that are answered together none has a tree.
    is_tree = settings.draft_model is not None and settings.draft_tree and settings.rooms is None
    return min(BRANCHES, MAX_SEQUENCES - 1 - settings.sessions) if is_tree else 0


def sequences(settings: TranslateSettings, memory: RecurrentMemory | None) -> int:
    """Sequences of a context: the head's, the sessions', and those of branches, which a state cannot have."""
    if memory is not None:
        return memory.sequences(settings.sessions)
    return settings.sessions + 1 + branches(settings)


def open_sessions(
    settings: TranslateSettings,
    model: LlamaModel,
    head: tuple[int, ...],
    context: ContextSettings,
    memory: RecurrentMemory | None,
) -> tuple[LlamaContext, SessionPool]:
    """The context and the sessions of either model.

    ``memory`` is its own, whichever the ``context`` was made for.
    """
    rollback = memory.rollback if memory else 0
    own = msgspec.structs.replace(context, sequences=sequences(settings, memory), rollback=rollback)
    spare = 0 if memory else branches(settings)
    opened = LlamaContext(model, own)
    return opened, SessionPool(opened, head, settings.sessions, memory, branches=spare)


def check_drafted(settings: TranslateSettings) -> None:
    """Raise `UsageError` where a second model is given to a method that never asks one."""
    if settings.draft_model is not None and settings.method not in DRAFTED:
        raise UsageError(
            f"a draft model drafts for the methods {' and '.join(DRAFTED)} alone; "
            f"leave it out, or choose another method than {settings.method}"
        )


class DraftModel(NamedTuple):
    """A second model that is loaded."""

    path: Path
    model: LlamaModel
    context: LlamaContext
    pool: SessionPool


def open_draft_model(
    settings: TranslateSettings,
    model: LlamaModel,
    head: tuple[int, ...],
    context: ContextSettings,
    progress: Progress,
) -> DraftModel | None:
    """The settings' second model, for drafts of ``model``; None where there is none.

    ``progress`` hears what is being done, and how much of it is.

    Raises `InputError` if it cannot be used, or if its tokens are not those of ``model``.
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
        memory = recurrent_memory(draft, settings.sessions)
        # What only the draft model can say is not to be drafted.
        context = msgspec.structs.replace(context, tokens=min(model.vocabulary_size, draft.vocabulary_size))
        opened, pool = open_sessions(settings, draft, head, context, memory)
    except ModelTrouble as trouble:
        raise InputError(f"{path}: the draft model cannot be used, {trouble}; choose another") from None
    return DraftModel(path, draft, opened, pool)
