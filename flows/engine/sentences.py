"""Builds what joins a stream's segments into sentences, from its settings."""

from collections.abc import Callable
from functools import partial

from connectors.models.resolve import NAMES
from flows.engine.translation import Engine
from flows.settings.schema import SentencesSettings
from operators.languages import Language
from operators.models.continuations import Continuations, open_continuations
from operators.models.llama_model import LlamaModel
from operators.sentences.joining import Bounds, Sentences, SentencesState
from operators.sentences.numbers import digits
from operators.sentences.seam import LanguageModel
from operators.stages.sentences import MakeSentences


def sentences_of(
    settings: SentencesSettings,
    spoken: Callable[[str], Language],
    model: Callable[[str], LanguageModel | None],
) -> MakeSentences:
    """Makes what joins the segments of a stream.

    Args:
        settings: Say how to join them.
        spoken: The language of a stream, given its name.
        model: What judges its text where the rules are unsure, likewise.
    """
    bounds = Bounds(settings.pause_s, settings.max_words, settings.max_s)

    def make(state: SentencesState) -> Sentences:
        language = spoken(state.stream)
        spell = partial(digits, language=language) if settings.digits else str
        return Sentences(state, language, model(state.stream), bounds=bounds, spell=spell)

    return make


def judge_of(engine: Engine, name: str) -> Continuations | None:
    """What judges sentences by the engine's model, in a cache of its own; None if the model is not known to.

    Models for captions and the base model are small and know whole sentences. Others might take seconds.

    Args:
        engine: The loaded model.
        name: The model as the settings name it.

    Raises:
        InputError: there is no memory for the cache.
    """
    is_known = engine.prompt.knows_unfinished or name in NAMES
    model = engine.model
    if not is_known or not isinstance(model, LlamaModel) or model.is_recurrent:
        return None
    return open_continuations(model, engine.context.threads)
