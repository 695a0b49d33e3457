"""Language models: weights, prompts, sessions for an engine, and the draft model. Imports llama.cpp."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from connectors.files.contents import read_toml
from connectors.machine.resources import good_threads
from connectors.models.resolve import resolve_model
from flows.engine.costs import pass_costs_of
from flows.settings.translate import BEAM, TranslateSettings
from operators.decoding.forward import output_limit
from operators.decoding.pass_cost import PassCosts
from operators.decoding.tree import MAX_NODES
from operators.errors import InputError
from operators.languages import Direction
from operators.model_errors import ModelError
from operators.models.context import ContextSettings
from operators.models.llama import LlamaContext
from operators.models.llama_model import LlamaModel, first_difference
from operators.models.pool import SessionPool
from operators.notifications import Progress
from operators.prompts.prompt import Prompt
from operators.prompts.select import select_prompt
from operators.prompts.template import Template, template_of

#: Maximum number of sequences in llama.cpp.
MAX_SEQUENCES = 256
#: Maximum number of branches of a draft model with a tree, and of one that only regenerates beside a branch.
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
    """The smallest number of tokens worth keeping in a KV cache with this number of cells.

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
) -> SessionPool:
    """The sessions of the model or of its draft model, in a context of their own.

    Args:
        heads: The beginnings of its prompts.
        keeps: Whether the KV cache of an output is kept when its prompt changes, if the model supports that.
    """
    own = msgspec.structs.replace(context, sequences=sequences(settings, model, len(heads)))
    opened = LlamaContext(model, own)
    first, *further = heads
    is_kept = keeps and shifted(settings, len(heads)) and opened.can_shift
    return SessionPool(
        opened, first, settings.sessions, further=further,
        least_kept=least_kept(own.cells) if is_kept else None,
        branches=0 if model.is_recurrent else branches(settings),
        beams=0 if model.is_recurrent else beams(settings, len(heads)),
    )  # fmt: skip


class DraftModel(NamedTuple):
    path: Path
    model: LlamaModel
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
        pool = open_sessions(settings, draft, heads, context)
    except ModelError as error:
        raise InputError(f"{path}: the draft model cannot be used, {error}; choose another") from None
    return DraftModel(path, draft, pool)


class OpenLanguageModel(NamedTuple):
    """A loaded model with its prompts and its sessions."""

    model: LlamaModel
    #: By the codes of the directions.
    prompts: Mapping[str, Prompt]
    context: ContextSettings
    pool: SessionPool
    draft: DraftModel | None
    #: Cost of passes of the model and of its draft model on this machine, measured on first use.
    costs: Callable[[], PassCosts]
    draft_costs: Callable[[], PassCosts | None]


def open_language_model(
    path: Path, settings: TranslateSettings, directions: Sequence[Direction], progress: Progress
) -> OpenLanguageModel:
    """Load a model, and evaluate the heads of its prompts.

    Raises `InputError` if it cannot be used.
    """
    try:
        model = LlamaModel(path, lambda fraction: progress("loading the model", fraction))
        template = _template(settings.template)
        prompts = {
            one.code: select_prompt(model, template, one.source.name, one.target.name)._replace(pad=model.pad)
            for one in directions
        }
        progress("evaluating the prompt", None)
        context = ContextSettings(
            cells=_cells(settings, model, list(prompts.values())),
            sequences=sequences(settings, model, len(prompts)),
            threads=settings.threads or good_threads(),
        )
        heads = tuple(dict.fromkeys(one.head for one in prompts.values()))
        pool = open_sessions(settings, model, heads, context, keeps=True)
        draft = open_draft_model(settings, model, heads, context, progress)
    except ModelError as error:
        raise InputError(f"{path}: the model cannot be used, {error}; choose another") from None
    threads = context.threads
    return OpenLanguageModel(
        model, prompts, context, pool, draft,
        cache(lambda: pass_costs_of(path, model, threads, progress)),
        cache(lambda: None if draft is None else pass_costs_of(draft.path, draft.model, threads, progress)),
    )  # fmt: skip


def _template(chosen: str) -> str | Template:
    return read_template(Path(chosen)) if chosen.endswith(".toml") else chosen


#: Number of sessions after the first that share the cells of one window: a sixth of it holds about 30 words.
_SESSIONS_A_WINDOW = 6


def _cells(settings: TranslateSettings, model: LlamaModel, prompts: Sequence[Prompt]) -> int:
    tail = max(len(tail) for prompt in prompts for tail in (prompt.tail, prompt.unfinished_tail or ()))
    # A source of max_source tokens may be a few tokens longer where windows are joined from words.
    notes = [one for prompt in prompts for one in (prompt.terms, prompt.context) if one is not None]
    if notes and (settings.glossary is not None or settings.context):
        # A prompt with notes shares no head, and its tail is counted twice.
        tail += max(one.room for one in notes)
    window = settings.max_source + 16 + tail + output_limit(settings.max_source)
    # Only the session in use has a tree.
    nodes = MAX_NODES if settings.draft_model is not None else 0
    # Few cells, because keeping tokens shifts all of them, and segments that are open at the same time are
    # rarely all long. If they are, the oldest sessions are evicted, and evaluated again when next used.
    # A recurrent memory cannot be cut in the middle of a pass, so there each session has a whole window.
    whole = settings.sessions if model.is_recurrent else 1 + (settings.sessions - 1) / _SESSIONS_A_WINDOW
    cells = sum(len(prompt.head) for prompt in prompts) + math.ceil(whole * window) + nodes
    return -(-cells // 256) * 256


def read_template(path: Path) -> Template:
    """Raises `InputError` if the file cannot be read or is no prompt template."""
    try:
        return template_of(read_toml(path.expanduser(), "the template", "translate.template"))
    except ValueError as error:
        raise InputError(
            f"{path}: this is not a template: {error}; write one as docs/models.md shows"
        ) from None
