"""Makes the recogniser that the settings name."""

from connectors.models.terms import tell_limit
from operators.languages import language
from operators.models.terms import NON_COMMERCIAL, Limit
from operators.recognizers.part import RECOGNIZERS, Observe, RecognizerSettings
from operators.recognizers.protocol import Recognizer


def check_recognizer(settings: RecognizerSettings, *, spoken: str, is_live: bool) -> None:
    """Check an engine's settings before a model is loaded.

    Args:
        settings: The settings of the recogniser.
        spoken: Name or code of the spoken language.
        is_live: Whether sound comes at the pace of speech.

    Raises:
        SurtitleError: if the engine cannot be used so, or does not know the language.
    """
    RECOGNIZERS[settings.engine].check(settings, language(spoken), is_live)


def make_recognizer(settings: RecognizerSettings, *, spoken: str = "English", observe: Observe) -> Recognizer:
    """A recogniser for one stream; its terms are told if it is not for every use.

    Args:
        settings: The settings of the recogniser.
        spoken: Name or code of the spoken language.
        observe: Called with the recogniser's events, on any thread.

    Raises:
        SurtitleError: if the engine, its model or a setting that it needs is missing.
    """
    tell_terms(settings.engine, spoken)
    return RECOGNIZERS[settings.engine].make(settings, language(spoken), observe)


def tell_terms(engine: str, spoken: str) -> None:
    """Tell the terms of an engine's model for a language, if there are any."""
    terms = RECOGNIZERS[engine].terms(language(spoken))
    if terms is not None:
        model, licence = terms
        tell_limit(model, Limit(NON_COMMERCIAL, licence))
