"""Builds a translator from its settings: the model, the prompt, the sessions, the method."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from connectors.models.resolve import models_for, resolve_model, steps
from connectors.terminology import read_glossary
from flows.engine.choice import chosen_model, fetch_chosen
from flows.engine.marian import UNSHARED, load_pair_model, marian_folder, open_marian
from flows.engine.methods import method, research, weighs_costs
from flows.settings.terminology import of_direction
from flows.settings.translate import SPECULATIVE, TranslateSettings
from operators.decoding.acceptance import acceptance
from operators.decoding.conditioning import Conditioning
from operators.decoding.drive import Decoder, SequentialDecoder
from operators.decoding.forward import Method, Task, output_limit
from operators.decoding.pass_cost import FLAT, PassCosts
from operators.decoding.translator import (
    CommitRule,
    PivotTranslator,
    SegmentTranslator,
    Translator,
    TranslatorSettings,
)
from operators.errors import UsageError
from operators.glossary import Glossary
from operators.languages import ENGLISH, Direction, language
from operators.models.context import BATCH, ContextSettings
from operators.models.pool import SessionPool
from operators.notifications import Progress, silent
from operators.prompts.prompt import Prompt
from operators.seq2seq.store import EncoderDecoder
from operators.serving.scheduler import Scheduler, fill_of

if TYPE_CHECKING:
    from flows.engine.language_model import DraftModel
    from operators.models.llama_model import LlamaModel


class Engine(NamedTuple):
    """A loaded model with a prompt, and the sessions that all its translators share."""

    path: Path
    model: "LlamaModel | EncoderDecoder"
    prompt: Prompt
    #: The prompts of all directions that it translates, by their codes.
    prompts: Mapping[str, Prompt]
    #: With rooms, only their scheduler may use these sessions.
    pool: SessionPool
    #: The draft model; None if there is none.
    draft: "DraftModel | None"
    #: The proposal heads; None if there are none.
    proposal_heads: Any
    context: ContextSettings
    #: Returns the glossary of a file, which is read once.
    glossary: Callable[[Path], Glossary]
    #: Cost of passes of the model and of its draft model on this machine, measured on first use.
    costs: Callable[[], PassCosts]
    draft_costs: Callable[[], PassCosts | None]
    #: Cost of passes that segments share.
    fill_costs: Callable[[], PassCosts]
    #: The engine to English, if this one translates from there to the target; None without a pivot.
    first: "Engine | None" = None

    def translator(self, settings: TranslateSettings, decoder: Decoder | None = None) -> SegmentTranslator:
        """A translator with the decoding settings of ``settings``; the others must be those of the engine.

        Its methods run in ``decoder``, by default one after the other. A first model to English has its own.
        """
        if self.first is None:
            return self._translator(settings, decoder)
        source, target = settings.direction
        to_english = to_direction(settings, Direction(source, ENGLISH))
        # No English word is held back: the first model's draft keeps them stable (docs/method.md).
        from_english = replace(to_direction(settings, Direction(ENGLISH, target)), hold_back=0)
        return PivotTranslator(self.first.translator(to_english), self._translator(from_english, decoder))

    def _translator(self, settings: TranslateSettings, decoder: Decoder | None) -> Translator:
        prompt = self.prompts.get(settings.direction.code, self.prompt)
        return Translator(
            prompt,
            decoder or self.sequential_decoder(),
            self.method(settings),
            translator_settings(settings, prompt),
            self.terms(settings),
        )

    def terms(self, settings: TranslateSettings) -> Glossary | None:
        return None if settings.terms is None else self.glossary(Path(settings.terms).expanduser())

    def sequential_decoder(self) -> Decoder:
        """Runs the methods one after the other, for any number of translators."""
        return SequentialDecoder(self.pool, self.drafts)

    def scheduler(self, *, is_hurried: bool) -> Scheduler:
        """Runs the methods concurrently; from now on, only it may use the sessions.

        If ``is_hurried``, methods share passes only where that saves time on this machine, because viewers
        wait for each of them. Otherwise as many tokens as possible share a pass.
        """
        costs = self.fill_costs() if is_hurried else FLAT
        fill = fill_of(costs) if is_hurried else BATCH
        return Scheduler(self.pool, self.drafts, fill=fill, costs=costs)

    @property
    def language_model(self) -> "LlamaModel | None":
        """None if it is an encoder-decoder model."""
        return None if isinstance(self.model, EncoderDecoder) else self.model

    @property
    def drafts(self) -> SessionPool | None:
        return None if self.draft is None else self.draft.pool

    def method(self, settings: TranslateSettings) -> Callable[[Task], Method]:
        """With the cost of passes on this machine, if the method uses it."""
        costs = self.costs() if weighs_costs(settings) else FLAT
        knows_unfinished = self.prompt.knows_unfinished
        # With many rooms, sessions cannot hold several hypotheses.
        beam = min(settings.width(knows_unfinished=knows_unfinished), max(1, self.pool.beams))
        embeddings = research().embeddings(self.path) if settings.compares_words else None
        return method(
            settings, costs, self.proposal_heads, knows_unfinished=knows_unfinished, beam=beam,
            embeddings=embeddings,
        )  # fmt: skip


def open_engine(settings: TranslateSettings, progress: Progress = silent) -> Engine:
    """Load the model and evaluate the prompt's head for any number of translators.

    Args:
        progress: Called with the current step and the fraction that is done.

    Raises:
        SurtitleError: when the model cannot be used.
    """
    return open_engines(settings, [settings.direction], progress)[0]


def open_engines(
    settings: TranslateSettings, directions: Sequence[Direction], progress: Progress = silent
) -> list[Engine]:
    """Load the models for all directions; each direction belongs to one engine.

    Raises `SurtitleError` when a model cannot be used.
    """
    research().check(settings)
    glossary = cache(read_glossary)
    for own in (to_direction(settings, one) for one in directions):
        if own.terms is not None:
            glossary(Path(own.terms).expanduser())  # reports errors before a model is loaded
    fetch_chosen(settings, directions, progress)
    load = cache(load_pair_model)
    engines = []
    for name, its in models_for([(chosen_model(settings, one), one) for one in directions]):
        *first, last = (
            _open(step, settings, each, glossary, progress, load) for step, each in steps(name, its)
        )
        engines.append(_behind(first[0], last, its[0], settings) if first else last)
    return engines


def _behind(first: Engine, last: Engine, direction: Direction, settings: TranslateSettings) -> Engine:
    """Chain ``last`` to ``first``, which translates to English."""
    own = to_direction(settings, direction)
    if own.terms is not None:
        raise UsageError(
            f"{own.terms} has terms for {direction}, which is translated via English: leave it out, or "
            "choose one model for both languages"
        )
    return last._replace(first=first, prompts={direction.code: last.prompt})


def _open(
    name: str,
    settings: TranslateSettings,
    directions: Sequence[Direction],
    glossary: Callable[[Path], Glossary],
    progress: Progress,
    load: Callable[[Path, int], EncoderDecoder],
) -> Engine:
    own = with_sessions(to_direction(settings, directions[0]), len(directions))
    if (folder := marian_folder(name, directions[0], settings, progress)) is not None:
        pair = open_marian(folder, own, directions, progress, load)
        return Engine(
            folder, pair.model, next(iter(pair.prompts.values())), pair.prompts, pair.open(own), None,
            research().open_heads(own, folder), pair.context, glossary, pair.costs,
            lambda: None, lambda: UNSHARED,
        )  # fmt: skip
    # The context must also hold the terms of the other directions.
    own = replace(own, glossary=settings.glossary)
    path = resolve_model(name, directions[0], progress=progress)
    from flows.engine.language_model import open_language_model  # not before llama.cpp is known to be here

    found = open_language_model(path, own, directions, progress)
    return Engine(
        path, found.model, next(iter(found.prompts.values())), found.prompts, found.pool, found.draft,
        research().open_heads(own, path), found.context, glossary, found.costs, found.draft_costs,
        found.costs,
    )  # fmt: skip


def to_direction(settings: TranslateSettings, direction: Direction) -> TranslateSettings:
    """The settings for another direction, with the glossary of its language."""
    first = settings.direction
    if direction == first:
        return settings
    return replace(
        settings, source=direction.source.name, to=direction.target.name,
        glossary=of_direction(settings.glossary, direction, first),
    )  # fmt: skip


def with_sessions(settings: TranslateSettings, directions: int = 1) -> TranslateSettings:
    """At least one session for each room and each of its ``directions``."""
    each = directions if settings.targets[1:] else 1
    return replace(settings, sessions=max(settings.sessions, each * (settings.rooms or 1)))


def translator_settings(settings: TranslateSettings, prompt: Prompt) -> TranslatorSettings:
    speculates = settings.method in SPECULATIVE
    # An exact rule gives the same tokens as re-translation. Committed tokens are unverified and might differ.
    rules = settings.rules(knows_unfinished=prompt.knows_unfinished)
    commits = speculates and not acceptance(rules.accept, rules.bias).is_exact
    return TranslatorSettings(
        max_source=settings.max_source,
        max_output=output_limit(settings.max_source),
        scripts=language(settings.target).scripts,
        conditioning=conditioning(settings, prompt),
        commit=CommitRule(settings.commit if commits else 0),
        keep=settings.commit > 0,
        guards=settings.own_guards,
        draft_mask=settings.draft_mask,
        drafts_source=speculates and prompt.corrects and settings.draft_source,
        finals_differ=speculates and rules.finals_differ,
        context=settings.context,
    )


def conditioning(settings: TranslateSettings, prompt: Prompt) -> Conditioning:
    hold_back = prompt.hold_back if settings.hold_back is None else settings.hold_back
    return Conditioning(settings.strip_punctuation, hold_back, closes_unfinished(settings, prompt))


def closes_unfinished(settings: TranslateSettings, prompt: Prompt) -> bool:
    """Whether unfinished text gets a full stop; by default, unless the model was trained on such text."""
    chosen = settings.close_unfinished
    return not prompt.knows_unfinished if chosen is None else chosen
