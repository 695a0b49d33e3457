"""Makes the recogniser that the settings name."""

from collections.abc import Set

from msgspec.structs import replace

from operators.extras import require_extra
from operators.languages import language
from operators.recognizers.part import MAX_INTERVAL_S, RECOGNIZERS, Observe, RecognizerSettings
from operators.recognizers.protocol import Recognizer
from operators.recognizers.windowed import WindowedRecognizer


def check_recognizer(settings: RecognizerSettings, *, spoken: str, is_live: bool) -> None:
    """Raise `SurtitleError` for an unusable engine, before a model is loaded.

    Args:
        spoken: Name or code of the spoken language.
        is_live: Whether sound comes at the pace of speech.
    """
    part = RECOGNIZERS[settings.engine]
    require_extra(part.extra, f"the recogniser {part.name}")
    part.check(settings, language(spoken), is_live)


def finals_of(settings: RecognizerSettings) -> RecognizerSettings:
    """Settings for a run that needs only finals: as few windows as possible."""
    if not RECOGNIZERS[settings.engine].is_windowed:
        return settings
    return replace(settings, update_interval_s=MAX_INTERVAL_S)


def make_recognizer(
    settings: RecognizerSettings, *, spoken: str = "English", observe: Observe, words: Set[str] = frozenset()
) -> Recognizer:
    """A recogniser for one stream.

    Args:
        spoken: Name or code of the spoken language.
        observe: Called with the recogniser's events, on any thread.
        words: Words that get a bias, if the recogniser supports that.
    """
    made = RECOGNIZERS[settings.engine].make(settings, language(spoken), observe)
    if words and isinstance(made, WindowedRecognizer):
        made.expect(words)
    return made
