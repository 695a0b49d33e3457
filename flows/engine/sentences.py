"""Builds what joins a stream's segments into sentences, from its settings."""

from collections.abc import Callable

from flows.settings.schema import SentencesSettings
from operators.languages import Language
from operators.sentences.joining import Bounds, Sentences, SentencesState
from operators.sentences.opinion import LanguageModel
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
    bounds = Bounds(settings.pause_s, settings.max_words)

    def make(state: SentencesState) -> Sentences:
        stream = state.stream
        return Sentences(state, spoken(stream), model(stream), bounds=bounds)

    return make
